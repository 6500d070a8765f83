package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/** A request that cannot be answered, in OpenAI's form: a status, a message, and the wrong parameter. */
final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final String type;
    private final @Nullable String parameter;
    private final @Nullable String code;

    private ApiException(int status, String type, @Nullable String parameter, @Nullable String code, String message) {
        super(message);
        this.status = status;
        this.type = type;
        this.parameter = parameter;
        this.code = code;
    }

    /** Returns the error of a wrong or unsupported parameter. */
    static ApiException wrong(String parameter, String message) {
        return new ApiException(400, "invalid_request_error", parameter, null, parameter + ": " + message);
    }

    /** Returns the error of a whole request. */
    static ApiException wrong(int status, String message) {
        return new ApiException(status, "invalid_request_error", null, null, message);
    }

    /** Fails if a request names another model. */
    static void requireModel(Fields fields, String name) {
        String asked = fields.text("model", name);
        if (!asked.equals(name)) {
            String message = "model: " + asked + " is not here; expected " + name;
            throw new ApiException(404, "invalid_request_error", "model", "model_not_found", message);
        }
    }

    /** Returns the error of a server that has no room, or stops, or fails. */
    static ApiException failed(int status, String message) {
        return new ApiException(status, "server_error", null, null, message);
    }

    int status() {
        return status;
    }

    ObjectNode json() {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.putObject("error")
                .put("message", getMessage())
                .put("type", type)
                .put("param", parameter)
                .put("code", code);
        return root;
    }
}
