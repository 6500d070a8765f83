package io.multihead.grammar;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** An independent validator. Jackson reads a text with exact numbers, and networknt validates the text. */
final class SchemaOracle {
    static final ObjectMapper MAPPER = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
            .disable(JsonParser.Feature.ALLOW_COMMENTS)
            .build();

    private static final SchemaRegistry REGISTRY =
            SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12);

    private final Schema schema;

    SchemaOracle(String schema) throws JsonProcessingException {
        this.schema = REGISTRY.getSchema(MAPPER.readTree(schema));
    }

    /** Returns the faults of a text; empty if there are none. */
    String faults(byte[] utf8) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
            return faults(MAPPER.readTree(text));
        } catch (IOException notJson) {
            return notJson.toString();
        }
    }

    String faults(JsonNode value) {
        var errors = schema.validate(
                value, context -> context.executionConfig(config -> config.formatAssertionsEnabled(true)));
        return errors.isEmpty() ? "" : errors.toString();
    }
}
