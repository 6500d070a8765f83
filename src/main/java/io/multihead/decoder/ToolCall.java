package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.nio.charset.StandardCharsets;

/**
 * A call of a tool in a model's answer.
 *
 * @param id the id by which the result names its call; empty for none. Some templates need an id. Ids of Mistral need nine letters and
 * digits
 * @param name of the tool
 * @param arguments a JSON object
 */
public record ToolCall(String id, String name, String arguments) {
    /** Checks that the arguments are a JSON object. */
    public ToolCall {
        Checks.notNull(id, "id");
        Checks.notNull(name, "name");
        Json.object("arguments", Checks.notNull(arguments, "arguments").getBytes(StandardCharsets.UTF_8));
    }
}
