package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.decoder.FamilyModel;
import io.multihead.support.Patience;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The generated text of a request is the same alone and among the requests of 64 clients, in any order, on any number
 * of threads, and after a restart.
 */
class ServeLoadTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int CLIENTS = 64;
    private static final List<String> PROMPTS =
            List.of("Once upon a time", "Lily and Tom", "The big dog", "One day, a cat", "A little girl");

    @TempDir
    private Path folder;

    private static String body(int seed) {
        return "{\"prompt\": \"%s\", \"seed\": %d, \"max_tokens\": 24}".formatted(PROMPTS.get(seed % 5), seed);
    }

    private static String text(HttpResponse<String> response) throws IOException {
        assertEquals(200, response.statusCode(), response.body());
        return JSON.readTree(response.body()).at("/choices/0/text").asText();
    }

    private static List<String> alone(String model) throws Exception {
        List<String> texts = new ArrayList<>();
        try (RunningServer server = new RunningServer("--model", model, "--sessions", "1", "--queue", "0")) {
            for (int seed = 0; seed < CLIENTS; seed++) {
                texts.add(text(server.post("/v1/completions", body(seed))));
            }
        }
        return texts;
    }

    private static List<String> together(String model, int threads, int sessions) throws Exception {
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, CLIENTS).boxed().toList());
        Collections.shuffle(order, new Random(threads));
        List<String> texts = new ArrayList<>(Collections.nCopies(CLIENTS, ""));
        try (RunningServer server = new RunningServer(
                "--model",
                model,
                "--threads",
                String.valueOf(threads),
                "--sessions",
                String.valueOf(sessions),
                "--queue",
                String.valueOf(CLIENTS))) {
            List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
            for (int seed : order) {
                all.add(server.send("/v1/completions", body(seed)));
            }
            for (int i = 0; i < CLIENTS; i++) {
                texts.set(order.get(i), text(all.get(i).get(Patience.HANG_SECONDS, TimeUnit.SECONDS)));
            }
        }
        return texts;
    }

    private static String hash(List<String> texts) throws Exception {
        byte[] bytes = String.join("\n", texts).getBytes(StandardCharsets.UTF_8);
        return HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes))
                .substring(0, 32);
    }

    private static void assertSame(String model, String name) throws Exception {
        List<String> alone = alone(model);
        assertTrue(alone.stream().distinct().count() > CLIENTS / 2, "texts that differ: " + alone);
        assertEquals(alone, together(model, 1, 16));
        assertEquals(alone, together(model, 2, 5));
        String published = Files.readAllLines(Path.of("docs/reference/server.md")).stream()
                .filter(line -> line.startsWith("| " + name))
                .findFirst()
                .orElseThrow();
        assertTrue(published.contains(hash(alone)), published + "; this server has " + hash(alone));
    }

    @Test
    void textsDoNotDependOnWhoElseAsks() throws Exception {
        Path file = folder.resolve("small.gguf");
        FamilyModel.write(file);
        assertSame(file.toString(), "random weights");
    }

    @Test
    void norDoThoseOfATrainedModel() throws Exception {
        Path file = Path.of("../shared/models/stories260K/stories260K.f32.gguf");
        assumeTrue(Files.exists(file), () -> file.toAbsolutePath().normalize() + " is not there");
        assertSame(file.toString(), "stories260K");
    }

    /** The slow reader has the only session. Its text is generated to the end, and waits for the client. */
    @Test
    void aSlowReaderStopsNobody() throws Exception {
        Path file = folder.resolve("small.gguf");
        FamilyModel.writeChat(file, "", 1024);
        try (RunningServer server = new RunningServer("--model", file.toString(), "--sessions", "1")) {
            String body = "{\"prompt\": \"ab\", \"seed\": 1, \"max_tokens\": 900, \"stream\": true, \"logprobs\": 20,"
                    + " \"logit_bias\": {\"2\": -100, \"260\": -100}}";
            try (Socket slow = new Socket("127.0.0.1", server.port())) {
                slow.setReceiveBufferSize(4096);
                slow.getOutputStream().write(RawRequests.postWithoutChunks("/v1/completions", body));
                BufferedReader in =
                        new BufferedReader(new InputStreamReader(slow.getInputStream(), StandardCharsets.UTF_8));
                assertEquals("HTTP/1.1 200 OK", in.readLine());
                assertEquals(
                        200,
                        server.send("/v1/completions", body(1))
                                .get(Patience.HANG_SECONDS, TimeUnit.SECONDS)
                                .statusCode());
                assertTrue(in.lines().anyMatch(line -> line.equals("data: [DONE]")), "the whole answer");
            }
        }
    }

    @Test
    void whatRunsIsAnsweredBeforeTheEnd() throws Exception {
        Path file = folder.resolve("small.gguf");
        FamilyModel.writeChat(file, "", 1024);
        RunningServer server = new RunningServer("--model", file.toString());
        String body =
                "{\"prompt\": \"ab\", \"seed\": 1, \"max_tokens\": 200, \"logit_bias\": {\"2\": -100, \"260\": -100}";
        String whole = text(server.post("/v1/completions", body + "}"));
        assertTrue(whole.length() > 50, whole);
        try (Socket client = new Socket("127.0.0.1", server.port())) {
            client.getOutputStream()
                    .write(RawRequests.postWithoutChunks("/v1/completions", body + ", \"stream\": true}"));
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
            assertEquals("HTTP/1.1 200 OK", in.readLine());
            CompletableFuture<Void> stop = CompletableFuture.runAsync(server::close);
            StringBuilder streamed = new StringBuilder();
            List<String> events = in.lines()
                    .filter(line -> line.startsWith("data: "))
                    .map(line -> line.substring("data: ".length()))
                    .toList();
            assertEquals("[DONE]", events.getLast());
            for (String event : events.subList(0, events.size() - 1)) {
                streamed.append(JSON.readTree(event).at("/choices/0/text").asText());
            }
            assertEquals(whole, streamed.toString());
            stop.get(Patience.HANG_SECONDS, TimeUnit.SECONDS);
        }
    }
}
