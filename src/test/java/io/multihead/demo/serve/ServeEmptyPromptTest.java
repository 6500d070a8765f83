package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.decoder.FamilyModel;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Prompts without a token, for a model with a tokenizer that adds no token before texts. */
class ServeEmptyPromptTest {
    @TempDir
    private Path folder;

    private static void requireWrong(String parameter, HttpResponse<String> response) throws Exception {
        assertEquals(400, response.statusCode(), response.body());
        JsonNode error = new ObjectMapper().readTree(response.body()).path("error");
        assertTrue(error.path("message").asText().startsWith(parameter + ": "), error.toString());
    }

    @Test
    void aPromptWithoutATokenIsRefusedByName() throws Exception {
        Path model = folder.resolve("empty.gguf");
        FamilyModel.writeWithoutBegin(model, FamilyModel.PLAIN_TEMPLATE);
        try (RunningServer server = new RunningServer("--model", model.toString())) {
            String completions = "/v1/completions";
            requireWrong("prompt", server.post(completions, "{\"prompt\": \"\"}"));
            requireWrong("prompt", server.post(completions, "{\"prompt\": \"\", \"stream\": true}"));
            requireWrong("prompt", server.post(completions, "{\"prompt\": [\"a\", \"\"]}"));
            requireWrong("prompt", server.post(completions, "{\"prompt\": []}"));
            requireWrong("tokens", server.post("/attention", "{\"prompt\": \"\"}"));
            requireWrong("tokens", server.post("/attention", "{\"tokens\": []}"));
            String chat = "{\"max_tokens\": 2, \"messages\": [{\"role\": \"user\", \"content\": \"%s\"}]%s}";
            requireWrong("messages", server.post("/v1/chat/completions", chat.formatted("", "")));
            requireWrong("messages", server.post("/v1/chat/completions", chat.formatted("", ", \"stream\": true")));
            assertEquals(
                    200,
                    server.post("/v1/chat/completions", chat.formatted("a", "")).statusCode());
        }
    }
}
