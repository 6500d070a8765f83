package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The requests of the page to the server: the page itself, attention, and the probabilities and ids of tokens. */
class ServePageTest {
    @TempDir
    static Path folder;

    private static RunningServer server;

    @BeforeAll
    static void serve() throws Exception {
        FamilyModel.write(folder.resolve("small.gguf"));
        server = new RunningServer("--model", folder.resolve("small.gguf").toString(), "--cache", "F32");
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void thePageNamesNoOtherAddress() throws Exception {
        HttpResponse<String> page = server.get("/");
        assertEquals(200, page.statusCode());
        assertEquals(
                "text/html; charset=utf-8",
                page.headers().firstValue("Content-Type").orElseThrow());
        assertTrue(page.headers()
                .firstValue("Content-Security-Policy")
                .orElseThrow()
                .startsWith("default-src 'none'"));
        assertTrue(page.body().startsWith("<!doctype html>"));
        assertTrue(!page.body().contains("//cdn") && !page.body().contains("http"), "an address");
        assertEquals(405, server.post("/", "{}").statusCode());
    }

    @Test
    void attentionIsThatOfTheLibrary() throws Exception {
        JsonNode layers = server.json(server.get("/attention"));
        assertEquals("small", layers.path("model").asText());
        assertEquals(false, layers.path("chat").asBoolean(true));
        assertEquals(5, layers.path("layers").size());
        assertEquals(4, layers.at("/layers/2/heads").asInt());
        JsonNode answer = server.json(server.post("/attention", "{\"prompt\": \"a text\", \"position\": 4}"));
        JsonNode some =
                server.json(server.post("/attention", "{\"prompt\": \"a text\", \"position\": 4, \"layers\": [3, 1]}"));
        assertEquals(answer.at("/weights/3"), some.at("/weights/0"));
        assertEquals(answer.at("/weights/1"), some.at("/weights/1"));
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, folder.resolve("small.gguf"));
                Sessions sessions =
                        model.sessions(SessionOptions.DEFAULT.withCacheFormat(io.multihead.cache.CacheFormat.F32));
                Session session = sessions.open().append("a text")) {
            assertEquals(session.length(), answer.path("tokens").size());
            float[][][] expected = session.truncate(5).attention(0, 1, 2, 3, 4);
            for (int layer = 0; layer < 5; layer++) {
                for (int head = 0; head < 4; head++) {
                    for (int key = 0; key < 5; key++) {
                        String at = "/weights/" + layer + "/" + head + "/" + key;
                        assertEquals(
                                expected[layer][head][key],
                                (float) answer.at(at).asDouble(),
                                at);
                    }
                }
            }
        }
        for (String wrong : List.of(
                "{}",
                "{\"prompt\": \"a\", \"tokens\": [5]}",
                "{\"tokens\": [5, 100000]}",
                "{\"tokens\": [1.5]}",
                "{\"tokens\": 5}",
                "{\"tokens\": [5], \"position\": 1}",
                "{\"tokens\": [5], \"layers\": [5]}",
                "{\"tokens\": [5], \"layers\": [1, 1]}",
                "{\"tokens\": [5], \"more\": 1}")) {
            assertEquals(400, server.post("/attention", wrong).statusCode(), wrong);
        }
    }

    @Test
    void tokensComeWithOthersAndIds() throws Exception {
        JsonNode answer = server.json(server.post(
                "/v1/completions",
                "{\"prompt\": \"ab\", \"seed\": 1, \"max_tokens\": 4, \"logprobs\": 3, \"return_token_ids\": true}"));
        JsonNode choice = answer.at("/choices/0");
        int tokens = answer.at("/usage/completion_tokens").asInt();
        assertEquals(tokens, choice.path("token_ids").size());
        assertEquals(
                answer.at("/usage/prompt_tokens").asInt(),
                choice.path("prompt_token_ids").size());
        for (String name : List.of("tokens", "token_logprobs", "top_logprobs")) {
            assertEquals(tokens, choice.path("logprobs").path(name).size(), name);
        }
        assertEquals(3, choice.at("/logprobs/top_logprobs/0").size());
        String tooMany = "{\"prompt\": \"ab\", \"logprobs\": 21}";
        assertEquals(400, server.post("/v1/completions", tooMany).statusCode());
    }

    @Test
    void severalPromptsHaveTheTextsOfEachAlone() throws Exception {
        String more = ", \"seed\": 1, \"max_tokens\": 6, \"n\": 2}";
        JsonNode all = server.json(server.post("/v1/completions", "{\"prompt\": [\"ab\", \"cd\", \"ef\"]" + more));
        assertEquals(6, all.path("choices").size());
        int prompts = 0;
        for (int i = 0; i < 3; i++) {
            String prompt = List.of("ab", "cd", "ef").get(i);
            JsonNode alone = server.json(server.post("/v1/completions", "{\"prompt\": \"" + prompt + "\"" + more));
            prompts += alone.at("/usage/prompt_tokens").asInt();
            for (int text = 0; text < 2; text++) {
                JsonNode choice = all.at("/choices/" + (2 * i + text));
                assertEquals(2 * i + text, choice.path("index").asInt());
                assertEquals(
                        alone.at("/choices/" + text + "/text").asText(),
                        choice.path("text").asText());
            }
        }
        assertEquals(prompts, all.at("/usage/prompt_tokens").asInt());
        assertEquals(400, server.post("/v1/completions", "{\"prompt\": []}").statusCode());
        assertEquals(
                400, server.post("/v1/completions", "{\"prompt\": [\"a\", 1]}").statusCode());
    }
}
