package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.demo.MiniLmFolder;
import io.multihead.encoder.SentenceEncoder;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServeOptionsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder;

    private final StringWriter err = new StringWriter();
    private final HttpClient client = HttpClient.newHttpClient();

    /** A server that ends with the test. */
    private final class Running implements AutoCloseable {
        private final Serve serve = new Serve();
        private final CompletableFuture<Integer> run;

        Running(String... arguments) throws InterruptedException {
            List<String> all = new ArrayList<>(Arrays.asList(arguments));
            all.addAll(List.of("--port", "0", "--threads", "1"));
            run = CompletableFuture.supplyAsync(
                    () -> serve.run(new PrintWriter(err, true), all.toArray(String[]::new)),
                    task -> new Thread(task).start());
            while (serve.address() == null) {
                assertFalse(run.isDone(), err.toString());
                Thread.sleep(5);
            }
        }

        CompletableFuture<HttpResponse<String>> post(String path, String body, String... headers) {
            HttpRequest.Builder request = HttpRequest.newBuilder(
                            URI.create("http://127.0.0.1:" + serve.address().getPort() + path))
                    .POST(HttpRequest.BodyPublishers.ofString(body));
            if (headers.length > 0) {
                request.headers(headers);
            }
            return client.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
        }

        @Override
        public void close() {
            serve.stop();
            assertEquals(0, run.join());
        }
    }

    private String model() throws Exception {
        Path file = folder.resolve("small.gguf");
        FamilyModel.write(file);
        return file.toString();
    }

    private static HttpResponse<String> get(CompletableFuture<HttpResponse<String>> response) throws Exception {
        return response.get(1, TimeUnit.MINUTES);
    }

    @Test
    void aKeyIsAskedFor() throws Exception {
        String body = "{\"prompt\": \"ab\", \"max_tokens\": 1}";
        try (Running server = new Running("--model", model(), "--api-key", "secret")) {
            assertEquals(401, get(server.post("/v1/completions", body)).statusCode());
            assertEquals(
                    401,
                    get(server.post("/v1/completions", body, "Authorization", "Bearer secre"))
                            .statusCode());
            assertEquals(
                    200,
                    get(server.post("/v1/completions", body, "Authorization", "Bearer secret"))
                            .statusCode());
        }
    }

    @Test
    void moreThanMayWaitAreToldToComeBack() throws Exception {
        String body = "{\"prompt\": \"ab\", \"max_tokens\": 150, \"logit_bias\": {\"2\": -100}}";
        try (Running server = new Running("--model", model(), "--sessions", "1", "--queue", "0")) {
            List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                all.add(server.post("/v1/completions", body));
            }
            int refused = 0;
            for (CompletableFuture<HttpResponse<String>> each : all) {
                HttpResponse<String> response = get(each);
                if (response.statusCode() == 429) {
                    assertEquals(
                            "1", response.headers().firstValue("Retry-After").orElseThrow());
                    refused++;
                } else {
                    assertEquals(200, response.statusCode(), response.body());
                }
            }
            assertTrue(refused > 0 && refused < 30, "refused: " + refused);
            assertEquals(200, get(server.post("/v1/completions", body)).statusCode(), "all turns are free again");
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
        try (Running server = new Running("--embed", encoder.toString())) {
            JsonNode floats = JSON.readTree(get(server.post("/v1/embeddings", "{\"input\": [\"a cat\", \"a dog\"]}"))
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
                    get(server.post("/v1/embeddings", "{\"input\": \"a cat\", \"encoding_format\": \"base64\"}"))
                            .body());
            float[] decoded = new float[expected[0].length];
            ByteBuffer.wrap(Base64.getDecoder()
                            .decode(bytes.at("/data/0/embedding").asText()))
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .asFloatBuffer()
                    .get(decoded);
            assertArrayEquals(expected[0], decoded);
            assertEquals(
                    400, get(server.post("/v1/embeddings", "{\"input\": 1}")).statusCode());
            assertEquals(400, get(server.post("/v1/embeddings", "{}")).statusCode());
        }
    }

    @Test
    void wrongOptionsAreNamed() {
        assertEquals(2, new Serve().run(new PrintWriter(err, true)));
        assertTrue(err.toString().startsWith("--model, --embed or --rerank: absent"), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(1, new Serve().run(new PrintWriter(err, true), "--model", "nosuch.gguf", "--port", "0"));
        assertTrue(err.toString().contains("nosuch.gguf"), err.toString());
    }
}
