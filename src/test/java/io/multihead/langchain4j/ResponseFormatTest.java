package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.json.JsonAnyOfSchema;
import dev.langchain4j.model.chat.request.json.JsonArraySchema;
import dev.langchain4j.model.chat.request.json.JsonIntegerSchema;
import dev.langchain4j.model.chat.request.json.JsonNullSchema;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.chat.request.json.JsonReferenceSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.request.json.JsonSchemaElement;
import dev.langchain4j.model.chat.request.json.JsonStringSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An independent validator checks answers in JSON of a model with random weights, which has not learned JSON. */
class ResponseFormatTest {
    private static final int ANSWERS = 12;

    @TempDir
    private Path folder;

    private MultiheadChatModel model;

    @BeforeEach
    void load() throws IOException {
        Path file = folder.resolve("tiny.gguf");
        FamilyModel.writeChat(file, "{% for m in messages %}{{ m.content }}{% endfor %}", 1024);
        model = MultiheadChatModel.builder()
                .path(file)
                .chatTemplate(ChatTemplate.CHATML)
                .generation(GenerationOptions.DEFAULT.withMaxTokens(400).withSampling(Sampling.of(1, 0)))
                .build();
    }

    @AfterEach
    void close() {
        model.close();
    }

    private ChatResponse answer(ResponseFormat format) {
        return model.chat(ChatRequest.builder()
                .messages(UserMessage.from("Hi"))
                .responseFormat(format)
                .build());
    }

    private static ResponseFormat format(JsonSchemaElement root) {
        return ResponseFormat.builder()
                .type(ResponseFormatType.JSON)
                .jsonSchema(
                        JsonSchema.builder().name("answer").rootElement(root).build())
                .build();
    }

    private static void assertValid(String schema, String text) {
        Schema validator = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(schema);
        assertEquals(List.of(), validator.validate(text, InputFormat.JSON), text);
    }

    private void assertAnswers(JsonSchemaElement root) {
        int complete = 0;
        for (int i = 0; i < ANSWERS; i++) {
            ChatResponse response = answer(format(root));
            if (response.finishReason() == FinishReason.STOP) {
                assertValid(SchemaTexts.of(root), response.aiMessage().text());
                complete++;
            }
        }
        assertTrue(complete > 0, "every answer was cut off");
    }

    @Test
    void answersAreValidByTheirSchemas() {
        assertEquals(java.util.Set.of(Capability.RESPONSE_FORMAT_JSON_SCHEMA), model.supportedCapabilities());
        assertAnswers(JsonObjectSchema.builder()
                .addIntegerProperty("age")
                .addBooleanProperty("isKnown")
                .addEnumProperty("colour", List.of("red", "a \"quoted\" one", "back\\slash"))
                .required("age", "isKnown", "colour")
                .additionalProperties(false)
                .build());
        assertAnswers(JsonObjectSchema.builder()
                .addProperty(
                        "any",
                        JsonAnyOfSchema.builder()
                                .anyOf(new JsonNullSchema(), new JsonIntegerSchema())
                                .build())
                .addProperty(
                        "list",
                        JsonArraySchema.builder().items(new JsonIntegerSchema()).build())
                .required("any", "list")
                .build());
        assertAnswers(JsonRawSchema.from("{\"enum\": [1, \"two\", null]}"));
    }

    @Test
    void definitionsAreFound() {
        String name = "a/b~c";
        JsonObjectSchema node = JsonObjectSchema.builder()
                .addBooleanProperty("leaf")
                .addProperty(
                        "next", JsonReferenceSchema.builder().reference(name).build())
                .required("leaf")
                .build();
        assertAnswers(JsonObjectSchema.builder()
                .addProperty(
                        "root", JsonReferenceSchema.builder().reference(name).build())
                .required("root")
                .definitions(java.util.Map.of(name, node))
                .build());
    }

    @Test
    void jsonWithoutASchemaIsAnObject() {
        int complete = 0;
        for (int i = 0; i < ANSWERS; i++) {
            ChatResponse response = answer(ResponseFormat.JSON);
            assertTrue(
                    response.aiMessage().text().stripLeading().startsWith("{"),
                    response.aiMessage().text());
            if (response.finishReason() == FinishReason.STOP) {
                assertValid("{\"type\": \"object\"}", response.aiMessage().text());
                complete++;
            }
        }
        assertTrue(complete > 0, "every answer was cut off");
    }

    @Test
    void whatIsNotSupportedIsRefused() {
        String schema = "{\"type\": \"object\", \"unevaluatedProperties\": false}";
        InvalidRequestException refused =
                assertThrows(InvalidRequestException.class, () -> answer(format(JsonRawSchema.from(schema))));
        assertTrue(refused.getMessage().contains("unevaluatedProperties"), refused.getMessage());
        assertEquals("{\"type\":\"string\"}", SchemaTexts.of(new JsonStringSchema()));
    }
}
