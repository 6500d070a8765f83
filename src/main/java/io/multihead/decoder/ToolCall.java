package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.nio.charset.StandardCharsets;

/**
 * A call of a tool in a model's answer.
 *
 * @param id the id of the call, to which the result of the tool refers; empty for none. Some templates need an id. Mistral's templates need
 *     ids of nine letters and digits
 * @param name the name of the tool
 * @param arguments the arguments, a JSON object
 */
public record ToolCall(String id, String name, String arguments) {
    /** Checks that the arguments are a JSON object. */
    public ToolCall {
        Checks.notNull(id, "id");
        Checks.notNull(name, "name");
        Json.object("arguments", Checks.notNull(arguments, "arguments").getBytes(StandardCharsets.UTF_8));
    }
}
