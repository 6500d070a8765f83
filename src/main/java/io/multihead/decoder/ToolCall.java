package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.nio.charset.StandardCharsets;

/**
 * A call of a tool, as a model asks for it.
 *
 * @param id by which the result names its call; some templates want one, such as Mistral's, which want nine letters and digits; empty for none
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
