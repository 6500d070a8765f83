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

    private ApiException(int status, String type, @Nullable String parameter, String message) {
        super(message);
        this.status = status;
        this.type = type;
        this.parameter = parameter;
    }

    /** Returns the error of a wrong or unsupported parameter. */
    static ApiException wrong(String parameter, String message) {
        return new ApiException(400, "invalid_request_error", parameter, parameter + ": " + message);
    }

    /** Returns the error of a whole request. */
    static ApiException wrong(int status, String message) {
        return new ApiException(status, "invalid_request_error", null, message);
    }

    /** Returns the error of a server that has no room, or stops, or fails. */
    static ApiException failed(int status, String message) {
        return new ApiException(status, "server_error", null, message);
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
                .putNull("code");
        return root;
    }
}
