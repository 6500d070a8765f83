package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.nio.charset.StandardCharsets;

/**
 * A tool that a model may call.
 *
 * @param name the name of the tool
 * @param description description of the tool for the model; empty for none
 * @param parameters the JSON schema of the tool's arguments, a JSON object
 */
public record ToolDefinition(String name, String description, String parameters) {
    /** Checks that the schema is a JSON object. */
    public ToolDefinition {
        Checks.notNull(name, "name");
        Checks.notNull(description, "description");
        Json.object("parameters", Checks.notNull(parameters, "parameters").getBytes(StandardCharsets.UTF_8));
    }
}
