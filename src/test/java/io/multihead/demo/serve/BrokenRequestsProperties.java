package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.decoder.FamilyModel;
import io.multihead.support.Patience;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Requests that are truncated, huge, deeply nested, slow, of wrong types or not HTTP get a status of 4xx or a closed
 * connection. The answer has no stack trace, and no session remains. {@code -Dmultihead.tries=200} sends 100,000.
 */
class BrokenRequestsProperties {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<String> PATHS = List.of(
            "/v1/chat/completions", "/v1/completions", "/attention", "/tokenize", "/v1/embeddings", "/v1/models", "/");
    private static final List<String> BODIES = List.of(
            "{\"messages\": [{\"role\": \"user\", \"content\": \"ab\"}], \"max_tokens\": 2, \"stop\": [\"x\"], \"stream\": true}",
            "{\"prompt\": [\"ab\", \"c\"], \"max_tokens\": 2, \"n\": 2, \"logprobs\": 3, \"logit_bias\": {\"5\": 1.5}}",
            "{\"tokens\": [5, 6, 7], \"position\": 1, \"layers\": [0, 2]}",
            "{\"content\": \"ab\"}",
            "{\"prompt\": \"ab\", \"max_tokens\": 2, \"response_format\": {\"type\": \"json_schema\", \"json_schema\":"
                    + " {\"schema\": {\"type\": \"object\", \"properties\": {\"a\": {\"enum\": [1]}}}}}}");
    private static final List<String> VALUES = List.of(
            "null",
            "-1",
            "1e400",
            "1.5",
            "\"\"",
            "\"\\ud800\"",
            "[]",
            "{}",
            "[[1]]",
            "true",
            "9223372036854775808",
            "NaN",
            "[null]",
            "{\"type\": 1}",
            "\"\\u0000\"",
            "1e-400",
            "-0",
            "[\"a\", 1]");

    private static Path file;
    private static RunningServer server;

    @BeforeContainer
    static void serve() throws Exception {
        file = Files.createTempDirectory("broken").resolve("small.gguf");
        FamilyModel.writeChat(file, "{% for m in messages %}{{ m['content'] }}{% endfor %}");
        server = new RunningServer("--model", file.toString(), "--sessions", "2", "--queue", "9");
    }

    @AfterContainer
    static void stop() throws IOException {
        server.close();
        Files.delete(file);
        Files.delete(file.getParent());
    }

    @Property(tries = 500, shrinking = ShrinkingMode.OFF)
    void noneIsAnsweredByAFault(@ForAll @IntRange(max = 6) int path, @ForAll long seed) throws Exception {
        Random random = new Random(seed);
        byte[] request = broken(PATHS.get(path), random);
        int pauseAt = random.nextInt(request.length + 1);
        String answer = RawRequests.send(server.port(), request, pauseAt, random.nextInt(20) == 0 ? 30 : 0);
        String sent = new String(request, 0, Math.min(600, request.length), StandardCharsets.UTF_8);
        if (!answer.isEmpty()) {
            // a mutated request may be valid
            assertTrue(answer.matches("(?s)HTTP/1.1 (200|4\\d\\d) .*"), () -> sent + " is answered by " + answer);
            assertFalse(answer.contains("\tat ") || answer.contains("java."), () -> sent + " is answered by " + answer);
        }
        if (seed % 16 == 0) {
            assertIdle();
        }
    }

    /** Requires that the server answers as before, no request runs or waits, and no session uses memory. */
    private static void assertIdle() throws Exception {
        JsonNode answer =
                server.json(server.post("/v1/completions", "{\"prompt\": \"ab\", \"seed\": 1, \"max_tokens\": 2}"));
        assertEquals(2, answer.at("/usage/completion_tokens").asInt());
        String metrics = "";
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Patience.HANG_SECONDS);
        while (System.nanoTime() - end < 0) { // an answer without a reader is canceled at its next token
            metrics = server.get("/metrics").body();
            if (metrics.contains("multihead_running_requests 0\n")
                    && metrics.contains("multihead_waiting_requests 0\n")
                    && metrics.contains("multihead_cache_used_bytes 0\n")) {
                return;
            }
            Thread.sleep(10);
        }
        throw new AssertionError("something is left: " + metrics);
    }

    private static byte[] broken(String path, Random random) {
        String body = BODIES.get(random.nextInt(BODIES.size()));
        byte[] right = body.getBytes(StandardCharsets.UTF_8);
        return switch (random.nextInt(10)) {
            case 0 -> cut(RawRequests.post(path, body), random);
            case 1 -> RawRequests.post(path, right, right.length + 1 + random.nextInt(1000));
            case 2 ->
                RawRequests.post(
                        path, right, List.of(-1L, Long.MAX_VALUE, 9L << 20).get(random.nextInt(3)));
            case 3 -> flipped(RawRequests.post(path, body), random, 0);
            case 4 -> RawRequests.post(path, flippedText(body, random));
            case 5 -> RawRequests.post(path, deep(random));
            case 6, 7 -> RawRequests.post(path, otherValue(body, random));
            case 8 -> noise(random);
            default -> RawRequests.post(path, body.replaceFirst("ab", "a".repeat(random.nextInt(20_000))));
        };
    }

    private static byte[] cut(byte[] request, Random random) {
        byte[] cut = new byte[1 + random.nextInt(request.length)];
        System.arraycopy(request, 0, cut, 0, cut.length);
        return cut;
    }

    private static byte[] flipped(byte[] bytes, Random random, int from) {
        for (int i = 0; i <= random.nextInt(4); i++) {
            bytes[from + random.nextInt(bytes.length - from)] = (byte) random.nextInt();
        }
        return bytes;
    }

    private static String flippedText(String body, Random random) {
        return new String(flipped(body.getBytes(StandardCharsets.UTF_8), random, 0), StandardCharsets.UTF_8);
    }

    private static String deep(Random random) {
        String open = List.of("[", "{\"messages\":", "{\"prompt\":[", "{\"response_format\":")
                .get(random.nextInt(4));
        return open.repeat(1 + random.nextInt(20_000));
    }

    /** Replaces the value of a random member. */
    private static String otherValue(String body, Random random) {
        try {
            JsonNode root = JSON.readTree(body);
            List<String> names =
                    root.properties().stream().map(java.util.Map.Entry::getKey).toList();
            String name = names.get(random.nextInt(names.size()));
            String value = VALUES.get(random.nextInt(VALUES.size()));
            return body.replace("\"" + name + "\": " + text(body, name), "\"" + name + "\": " + value);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String text(String body, String name) {
        int from = body.indexOf("\"" + name + "\": ") + name.length() + 4;
        int end = body.indexOf(',', from);
        return body.substring(from, end < 0 ? body.length() - 1 : end);
    }

    private static byte[] noise(Random random) {
        byte[] bytes = new byte[1 + random.nextInt(300)];
        random.nextBytes(bytes);
        return bytes;
    }
}
