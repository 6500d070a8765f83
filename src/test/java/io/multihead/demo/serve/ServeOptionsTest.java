package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TextReranker;
import io.multihead.demo.MiniLmFolder;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServeOptionsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder;

    private final StringWriter err = new StringWriter();
    private final HttpClient client = HttpClient.newHttpClient();

    private String model() throws Exception {
        Path file = folder.resolve("small.gguf");
        FamilyModel.write(file);
        return file.toString();
    }

    private HttpResponse<String> post(InetSocketAddress to, String path, String body) throws Exception {
        return client.send(RunningServer.posted(to.getPort(), path, body), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void aKeyIsAskedFor() throws Exception {
        String body = "{\"prompt\": \"ab\", \"max_tokens\": 1}";
        try (RunningServer server = new RunningServer("--model", model(), "--api-key", "secret")) {
            assertEquals(401, server.post("/v1/completions", body).statusCode());
            assertEquals(
                    401,
                    server.post("/v1/completions", body, "Authorization", "Bearer secre")
                            .statusCode());
            assertEquals(
                    200,
                    server.post("/v1/completions", body, "Authorization", "Bearer secret")
                            .statusCode());
        }
    }

    @Test
    void aPathThatIsNotServedIsNamedWithThoseThatAre() throws Exception {
        try (RunningServer server = new RunningServer("--model", model())) {
            HttpResponse<String> none = server.post("/v1/embeddings", "{\"input\": \"a\"}");
            assertEquals(404, none.statusCode());
            assertTrue(
                    none.body().contains("/v1/embeddings: not found; expected one of [/, /attention, "), none.body());
            HttpResponse<String> chat =
                    server.post("/v1/chat/completions", "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}");
            assertEquals(400, chat.statusCode());
            assertTrue(
                    chat.body().contains("chat_template: absent; ")
                            && chat.body().contains("; /v1/completions continues texts"),
                    chat.body());
        }
    }

    /** The test itself occupies the only session. */
    @Test
    void moreThanMayWaitAreToldToComeBack() throws Exception {
        String body = "{\"prompt\": \"ab\", \"max_tokens\": 1}";
        Room room = new Room(1, 0, Duration.ofDays(1));
        Metrics metrics = new Metrics();
        InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, Path.of(model()));
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                HttpApi http = new HttpApi(any, metrics, null)) {
            TextApi texts = new TextApi("small", model, sessions, room, metrics, Duration.ofDays(1));
            http.post("/v1/completions", texts::completion);
            http.start();
            for (int round = 0; round < 2; round++) {
                room.enter();
                HttpResponse<String> refused = post(http.address(), "/v1/completions", body);
                assertEquals(429, refused.statusCode(), refused.body());
                assertEquals("1", refused.headers().firstValue("Retry-After").orElseThrow());
                room.leave();
                for (int text = 0; text < 3; text++) {
                    HttpResponse<String> response = post(http.address(), "/v1/completions", body);
                    assertEquals(200, response.statusCode(), response.body());
                }
            }
        }
    }

    /**
     * Without an end token, a text of this length takes hours, which exceeds the time limit of the tests if the server
     * does not cancel it.
     */
    @Test
    void aClientThatLeavesEndsItsText() throws Exception {
        int context = 1 << 20;
        Path file = folder.resolve("long.gguf");
        FamilyModel.writeChat(file, "", context);
        String body =
                "{\"prompt\": \"ab\", \"stream\": true, \"logit_bias\": {\"2\": -100, \"260\": -100}, \"max_tokens\": "
                        + context + "}";
        try (RunningServer server = new RunningServer(
                "--model", file.toString(), "--context", String.valueOf(context), "--sessions", "1", "--queue", "9")) {
            HttpRequest request = HttpRequest.newBuilder(
                            URI.create("http://127.0.0.1:" + server.port() + "/v1/completions"))
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build();
            HttpResponse<InputStream> response = client.send(request, HttpResponse.BodyHandlers.ofInputStream());
            assertTrue(response.body().read() >= 0);
            response.body().close();
            // this request waits for the only session
            String next = "{\"prompt\": \"ab\", \"max_tokens\": 1}";
            assertEquals(200, server.post("/v1/completions", next).statusCode());
            String counts = "multihead_requests_total{path=\"/v1/completions\",status=\"200\"} 1\n"
                    + "multihead_requests_total{path=\"/v1/completions\",status=\"499\"} 1\n";
            String metrics = server.metrics(text -> text.contains(counts));
            assertTrue(metrics.contains(counts), metrics);
        }
    }

    @Test
    void textsBecomeVectors() throws Exception {
        Path encoder = MiniLmFolder.write(folder.resolve("minilm"));
        float[][] expected;
        try (Compute cpu = Compute.serial();
                SentenceEncoder own = SentenceEncoder.load(cpu, encoder)) {
            expected = own.embed(List.of("a cat", "a dog"));
        }
        try (RunningServer server = new RunningServer("--embed", encoder.toString())) {
            JsonNode floats = JSON.readTree(server.post("/v1/embeddings", "{\"input\": [\"a cat\", \"a dog\"]}")
                    .body());
            for (int i = 0; i < 2; i++) {
                JsonNode vector = floats.at("/data/" + i + "/embedding");
                float[] actual = new float[vector.size()];
                for (int j = 0; j < actual.length; j++) {
                    actual[j] = (float) vector.path(j).asDouble();
                }
                assertArrayEquals(expected[i], actual);
            }
            assertTrue(floats.at("/usage/prompt_tokens").asInt() > 2);
            JsonNode bytes = JSON.readTree(
                    server.post("/v1/embeddings", "{\"input\": \"a cat\", \"encoding_format\": \"base64\"}")
                            .body());
            float[] decoded = new float[expected[0].length];
            ByteBuffer.wrap(Base64.getDecoder()
                            .decode(bytes.at("/data/0/embedding").asText()))
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .asFloatBuffer()
                    .get(decoded);
            assertArrayEquals(expected[0], decoded);
            assertEquals(400, server.post("/v1/embeddings", "{\"input\": 1}").statusCode());
            assertEquals(400, server.post("/v1/embeddings", "{}").statusCode());
        }
    }

    @Test
    void languageModelsEmbedAndRank() throws Exception {
        Path embed = folder.resolve("embed.gguf");
        FamilyModel.write(embed);
        Path rerank = folder.resolve("rerank.gguf");
        FamilyModel.writeAnswers(rerank, 400);
        List<String> documents = List.of("a cat", "a dog", "two birds");
        float[] vector;
        double[] scores;
        int tokens;
        try (Compute cpu = Compute.serial();
                LanguageModel embedding = LanguageModel.load(cpu, embed);
                LanguageModel ranking = LanguageModel.load(cpu, rerank);
                TextReranker reranker = ranking.reranker(SessionOptions.DEFAULT)) {
            vector = embedding.embedder().embed("a cat");
            tokens = embedding.embedder().count("a cat");
            scores = reranker.score("pets", documents);
        }
        // the context is larger than the context of the reranker
        try (RunningServer server =
                new RunningServer("--embed", embed.toString(), "--rerank", rerank.toString(), "--context", "1000")) {
            JsonNode embedded = server.json(server.post("/v1/embeddings", "{\"input\": \"a cat\"}"));
            float[] actual = new float[vector.length];
            for (int i = 0; i < actual.length; i++) {
                actual[i] = (float) embedded.at("/data/0/embedding/" + i).asDouble();
            }
            assertArrayEquals(vector, actual);
            assertEquals(tokens, embedded.at("/usage/prompt_tokens").asInt());
            HttpResponse<String> shorter = server.post("/v1/embeddings", "{\"input\": \"a\", \"dimensions\": 8}");
            assertEquals(400, shorter.statusCode());
            String expected = "dimensions: 8; expected an integer from " + vector.length + " to " + vector.length;
            assertTrue(shorter.body().contains(expected), shorter.body());
            JsonNode ranked = server.json(server.post(
                    "/v1/rerank",
                    "{\"query\": \"pets\", \"documents\": [\"a cat\", \"a dog\", \"two birds\"],"
                            + " \"return_documents\": true}"));
            double last = Double.POSITIVE_INFINITY;
            Set<Integer> seen = new HashSet<>();
            for (JsonNode result : ranked.get("results")) {
                int index = result.get("index").asInt();
                double score = result.get("relevance_score").asDouble();
                assertEquals(scores[index], score);
                assertTrue(score <= last, score + " after " + last);
                assertEquals(documents.get(index), result.at("/document/text").asText());
                last = score;
                seen.add(index);
            }
            assertEquals(Set.of(0, 1, 2), seen);
            JsonNode two = server.json(server.post(
                    "/v1/rerank", "{\"query\": \"pets\", \"documents\": [\"a\", \"b\", \"c\"], \"top_n\": 2}"));
            assertEquals(2, two.get("results").size());
        }
    }

    @Test
    void aFileOfNeitherKindIsRefusedByBoth() throws Exception {
        Path file = folder.resolve("other.gguf");
        new GgufWriter()
                .put("general.architecture", GgufValue.ofString("whisper"))
                .write(file);
        for (String option : new String[] {"--embed", "--rerank"}) {
            err.getBuffer().setLength(0);
            assertEquals(1, new Serve().run(new PrintWriter(err, true), option, file.toString(), "--port", "0"));
            String printed = err.toString();
            assertTrue(
                    printed.contains("no encoder: " + file + ": general.architecture: STRING \"whisper\"; "), printed);
            assertTrue(printed.contains("; and no language model: " + file + ": "), printed);
        }
    }

    @Test
    void aWarmUpChangesNoAnswerAndNoCount() throws Exception {
        String body = "{\"prompt\": \"ab\", \"max_tokens\": 4, \"seed\": 1}";
        List<JsonNode> choices = new ArrayList<>();
        for (String seconds : List.of("0", "1")) {
            try (RunningServer server = new RunningServer("--model", model(), "--warm-up", seconds)) {
                assertTrue(server.get("/metrics").body().contains("multihead_prompt_tokens_total 0\n"));
                choices.add(server.json(server.post("/v1/completions", body)).get("choices"));
            }
        }
        assertEquals(choices.get(0), choices.get(1));
    }

    /** Some contexts are smaller than the text, and some have room for several texts. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 40, 500, 2000})
    void aWarmUpFillsItsContextAgainAndAgainAndEndsWhenTheServerIsStopped(int context) throws Exception {
        Path file = folder.resolve("small.gguf");
        FamilyModel.writeChat(file, "", 2000);
        SessionOptions options =
                SessionOptions.DEFAULT.withContextTokens(context).withSessions(2);
        AtomicInteger questions = new AtomicInteger();
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, file)) {
            WarmUp.run(model, options, Duration.ofDays(1), () -> questions.incrementAndGet() > 20);
        }
        assertTrue(questions.get() > 20, "ended after " + questions);
    }

    @Test
    void wrongOptionsAreNamed() throws Exception {
        assertEquals(2, new Serve().run(new PrintWriter(err, true)));
        assertTrue(err.toString().startsWith("--model, --embed or --rerank: absent"), err.toString());
        err.getBuffer().setLength(0);
        String[] negative = {"--model", "nosuch.gguf", "--warm-up", "-1"};
        assertEquals(2, new Serve().run(new PrintWriter(err, true), negative));
        assertTrue(err.toString().startsWith("--warm-up: -1; expected 0 to "), err.toString());
        err.getBuffer().setLength(0);
        String[] noContext = {"--model", "nosuch.gguf", "--context", "-1"};
        assertEquals(2, new Serve().run(new PrintWriter(err, true), noContext));
        assertTrue(err.toString().startsWith("--context: -1; expected 0 to "), err.toString());
        err.getBuffer().setLength(0);
        String[] longer = {"--model", model(), "--port", "0", "--context", "1000000"};
        assertEquals(2, new Serve().run(new PrintWriter(err, true), longer));
        assertTrue(err.toString().startsWith("--context: 1000000; expected at most the model's "), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(1, new Serve().run(new PrintWriter(err, true), "--model", "nosuch.gguf", "--port", "0"));
        assertTrue(
                err.toString().startsWith("serve: NoSuchFileException: nosuch.gguf: nothing at ")
                        && err.toString().contains("; get one by: hf download OWNER/NAME nosuch.gguf --local-dir ."),
                err.toString());
        for (String option : new String[] {"--embed", "--rerank"}) {
            err.getBuffer().setLength(0);
            assertEquals(1, new Serve().run(new PrintWriter(err, true), option, "nosuch", "--port", "0"));
            assertTrue(err.toString().startsWith("serve: NoSuchFileException: nosuch: nothing at "), err.toString());
        }
    }

    @Test
    void anAddressThatCannotBeBoundIsNamed() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            String port = String.valueOf(taken.getLocalPort());
            assertEquals(2, new Serve().run(new PrintWriter(err, true), "--model", "nosuch.gguf", "--port", port));
            assertTrue(err.toString().startsWith("--host, --port: 127.0.0.1:" + port + " ("), err.toString());
        }
        err.getBuffer().setLength(0);
        assertEquals(
                2, new Serve().run(new PrintWriter(err, true), "--model", "nosuch.gguf", "--host", "host.invalid"));
        assertTrue(err.toString().startsWith("--host: host.invalid; expected a name or an address"), err.toString());
    }
}
