package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.compute.Compute;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ServeTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    static Path folder;

    private static RunningServer server;

    @BeforeAll
    static void serve() throws Exception {
        Path model = folder.resolve("small.gguf");
        FamilyModel.writeChat(model, FamilyModel.TOOL_TEMPLATE, 1024);
        server = new RunningServer("--model", model.toString(), "--threads", "2", "--sessions", "4", "--queue", "70");
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static HttpResponse<String> post(String path, String body) throws Exception {
        return server.post(path, body, "Content-Type", "application/json");
    }

    private static JsonNode ok(String path, String body) throws Exception {
        return server.json(post(path, body));
    }

    private static String get(String path) throws Exception {
        HttpResponse<String> response = server.get(path);
        assertEquals(200, response.statusCode(), response.body());
        return response.body();
    }

    private static String chat(String question, long seed, String more) {
        return """
                {"model": "small", "messages": [{"role": "user", "content": "%s"}], "seed": %d, "max_tokens": 20%s}""".formatted(question, seed, more);
    }

    private static String content(JsonNode answer) {
        return answer.at("/choices/0/message/content").asText();
    }

    @Test
    void anAnswerIsThatOfTheLibrary() throws Exception {
        JsonNode answer = ok("/v1/chat/completions", chat("ab", 5, ""));
        assertEquals("chat.completion", answer.path("object").asText());
        assertEquals("small", answer.path("model").asText());
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, folder.resolve("small.gguf"));
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().appendChat(List.of(ChatMessage.user("ab")))) {
            var text = session.generate(
                    GenerationOptions.DEFAULT.withSampling(Sampling.of(1, 5)).withMaxTokens(20));
            assertEquals(session.answerFormat(List.of()).parse(text.text()).content(), content(answer));
            assertEquals(text.promptTokens(), answer.at("/usage/prompt_tokens").asInt());
            assertEquals(
                    text.tokens().size(), answer.at("/usage/completion_tokens").asInt());
        }
    }

    @Test
    void aStreamHasTheSameTextInParts() throws Exception {
        String whole = content(ok("/v1/chat/completions", chat("ab", 7, "")));
        HttpResponse<String> streamed = post(
                "/v1/chat/completions",
                chat("ab", 7, ", \"stream\": true, \"stream_options\": {\"include_usage\": true}"));
        assertEquals(
                "text/event-stream",
                streamed.headers().firstValue("Content-Type").orElseThrow());
        StringBuilder text = new StringBuilder();
        List<String> finishes = new ArrayList<>();
        int tokens = 0;
        List<String> events = streamed.body()
                .lines()
                .filter(line -> !line.isEmpty())
                .map(line -> line.substring("data: ".length()))
                .toList();
        assertEquals("[DONE]", events.getLast());
        for (String event : events.subList(0, events.size() - 1)) {
            JsonNode node = JSON.readTree(event);
            text.append(node.at("/choices/0/delta/content").asText());
            if (node.at("/choices/0/finish_reason").isTextual()) {
                finishes.add(node.at("/choices/0/finish_reason").asText());
            }
            tokens = node.at("/usage/completion_tokens").asInt(tokens);
        }
        assertEquals(whole, text.toString());
        assertEquals(1, finishes.size());
        assertTrue(tokens > 0);
    }

    @Test
    void anAnswerDoesNotDependOnOthers() throws Exception {
        List<String> alone = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            alone.add(content(ok("/v1/chat/completions", chat("q" + i % 7, i, ""))));
        }
        List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            all.add(server.send("/v1/chat/completions", chat("q" + i % 7, i, "")));
        }
        for (int i = 0; i < 64; i++) {
            HttpResponse<String> response = all.get(i).get();
            assertEquals(200, response.statusCode(), response.body());
            assertEquals(alone.get(i), content(JSON.readTree(response.body())), "request " + i);
        }
    }

    @Test
    void severalTextsHaveSeedsOfTheirOwn() throws Exception {
        JsonNode answer = ok("/v1/chat/completions", chat("ab", 40, ", \"n\": 3"));
        assertEquals(3, answer.path("choices").size());
        for (int i = 0; i < 3; i++) {
            assertEquals(
                    content(ok("/v1/chat/completions", chat("ab", 40 + i, ""))),
                    answer.at("/choices/" + i + "/message/content").asText());
        }
    }

    @Test
    void aSchemaIsKeptAndLogProbabilitiesCount() throws Exception {
        String schema = """
                , "logprobs": true, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": true,
                "schema": {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": false}}}""";
        JsonNode answer = ok("/v1/chat/completions", chat("ab", 3, schema));
        JsonNode value = JSON.readTree(content(answer));
        assertTrue(List.of(1, 2).contains(value.path("a").asInt()), value.toString());
        JsonNode logprobs = answer.at("/choices/0/logprobs/content");
        assertEquals(answer.at("/usage/completion_tokens").asInt(), logprobs.size());
        assertTrue(logprobs.path(0).path("logprob").asDouble(1) <= 0);
    }

    private static final String TOOLS = """
            , "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
            "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": false}}}]""";

    @Test
    void aCallThatIsRequiredIsValid() throws Exception {
        String body = chat(
                        "a", 3, TOOLS + ", \"tool_choice\": {\"type\": \"function\", \"function\": {\"name\": \"f\"}}")
                .replace("\"max_tokens\": 20", "\"max_tokens\": 80");
        JsonNode answer = ok("/v1/chat/completions", body);
        assertEquals("tool_calls", answer.at("/choices/0/finish_reason").asText(), answer.toString());
        JsonNode call = answer.at("/choices/0/message/tool_calls/0");
        assertEquals("f", call.at("/function/name").asText());
        assertTrue(answer.at("/choices/0/message/content").isNull(), answer.toString());
        JsonNode arguments = JSON.readTree(call.at("/function/arguments").asText());
        assertTrue(List.of(1, 2).contains(arguments.path("a").asInt()), arguments.toString());

        String streamed = post("/v1/chat/completions", body.replaceFirst("\\{", "{\"stream\": true, "))
                .body();
        assertTrue(streamed.contains(call.at("/function/arguments").toString()), streamed);
        assertTrue(streamed.contains("\"finish_reason\":\"tool_calls\""), streamed);

        String history = """
                {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": null, "tool_calls": [%s]},
                 {"role": "tool", "tool_call_id": "%s", "content": "b"}], "max_tokens": 2%s}""";
        assertEquals(
                200,
                post(
                                "/v1/chat/completions",
                                history.formatted(call, call.path("id").asText(), TOOLS))
                        .statusCode());
        assertEquals(
                400,
                post("/v1/chat/completions", history.formatted(call, "other", TOOLS))
                        .statusCode());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"frobnicate\": 1} | frobnicate | is not supported",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\", \"name\": \"me\"}]} | messages[0].name | is not supported",
                "{\"messages\": [{\"role\": \"judge\", \"content\": \"a\"}]} | messages[0].role | judge is not supported",
                "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]} | messages[0].content[0].type | expected text",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"response_format\": {\"type\": \"json_schema\"}} | response_format.json_schema | is required",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tool_choice\": \"required\"} | tool_choice | without tools",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tools\": [{\"type\": \"web\"}]} | tools[0].type | expected function",
                "{\"messages\": []} | messages | is empty",
                "{} | messages | is required",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"temperature\": 3} | temperature | 3; expected a number",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"temperature\": \"1\"} | temperature | \"1\"; expected a number",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"n\": 1.5} | n | 1.5; expected an integer",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"top_logprobs\": 2} | top_logprobs | 2 without logprobs; expected",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"logit_bias\": {\"x\": 1}} | logit_bias | x=1; expected ids",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"response_format\": {\"type\": \"json_schema\", \"json_schema\": {\"schema\": {\"not\": {}}}}} | response_format.json_schema.schema | not",
            })
    void whatIsNotSupportedIsNamed(String body, String parameter, String message) throws Exception {
        HttpResponse<String> response = post("/v1/chat/completions", body);
        assertEquals(400, response.statusCode(), response.body());
        JsonNode error = JSON.readTree(response.body()).path("error");
        assertEquals(parameter, error.path("param").asText());
        assertEquals("invalid_request_error", error.path("type").asText());
        assertTrue(error.path("message").asText().startsWith(parameter + ": "), response.body());
        assertTrue(error.path("message").asText().contains(message), response.body());
    }

    @Test
    void wrongRequestsHaveTheirStatus() throws Exception {
        assertEquals(400, post("/v1/chat/completions", "{").statusCode());
        assertEquals(400, post("/v1/chat/completions", "[]").statusCode());
        // the first bytes indicate UTF-32, and the next bytes are not valid text
        assertEquals(400, post("/v1/chat/completions", "\0\0\0{nsen\0\0\0}").statusCode());
        assertEquals(400, post("/v1/chat/completions", "[".repeat(100_000)).statusCode());
        assertEquals(400, post("/v1/chat/completions", chat("ab", 1, "") + "x").statusCode());
        assertEquals(
                400, post("/v1/chat/completions", chat("a".repeat(5000), 1, "")).statusCode());
        assertEquals(413, post("/v1/chat/completions", " ".repeat(9 << 20)).statusCode());
        assertEquals(404, post("/v1/chat/completions/more", "{}").statusCode());
        assertEquals(404, post("/v1/embeddings", "{}").statusCode());
        assertEquals(405, server.get("/v1/chat/completions").statusCode());
    }

    @Test
    void anotherModelHasTheCodeOfOpenAi() throws Exception {
        HttpResponse<String> response =
                post("/v1/chat/completions", chat("ab", 1, "").replace("small", "large"));
        assertEquals(404, response.statusCode());
        JsonNode error = JSON.readTree(response.body()).path("error");
        assertEquals("model_not_found", error.path("code").asText());
        assertEquals("model", error.path("param").asText());
        assertEquals(
                "model: large is not here; expected small",
                error.path("message").asText());
    }

    @Test
    void malformedJsonHasItsLineAndColumn() throws Exception {
        String message = JSON.readTree(
                        post("/v1/chat/completions", "{\"messages\":\n [1, 2").body())
                .at("/error/message")
                .asText();
        assertEquals(
                "the request is not JSON: Unexpected end-of-input: expected close marker for Array (start marker at line: 2, column: 2)",
                message);
    }

    @Test
    void whatIsServedIsListedAndCounted() throws Exception {
        JsonNode models = JSON.readTree(get("/v1/models"));
        assertEquals("small", models.at("/data/0/id").asText());
        assertEquals("ok", JSON.readTree(get("/health")).path("status").asText());
        assertFalse(ok("/tokenize", "{\"content\": \"ab\"}").path("tokens").isEmpty());
        JsonNode text = ok("/v1/completions", "{\"prompt\": \"ab\", \"max_tokens\": 3, \"temperature\": 0}");
        assertEquals("text_completion", text.path("object").asText());
        assertTrue(text.at("/choices/0/text").isTextual());
        String count = "multihead_requests_total{path=\"/v1/completions\",status=\"200\"}";
        String metrics = server.metrics(counts -> counts.contains(count));
        assertTrue(metrics.contains(count), metrics);
        assertTrue(
                metrics.lines().anyMatch(line -> line.matches("multihead_generated_tokens_total [1-9]\\d*")), metrics);
    }
}
