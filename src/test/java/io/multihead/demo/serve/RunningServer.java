package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.support.Patience;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A server in this process on a free port. A test closes it. */
final class RunningServer implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Serve serve = new Serve();
    private final StringWriter err = new StringWriter();
    private final HttpClient client = HttpClient.newHttpClient();
    private final CompletableFuture<Integer> run;

    RunningServer(String... arguments) throws InterruptedException {
        List<String> all = new ArrayList<>(Arrays.asList(arguments));
        all.addAll(List.of("--port", "0"));
        if (!all.contains("--threads")) {
            all.addAll(List.of("--threads", "1"));
        }
        if (!all.contains("--warm-up")) {
            all.addAll(List.of("--warm-up", "0"));
        }
        run = CompletableFuture.supplyAsync(
                () -> serve.run(new PrintWriter(err, true), all.toArray(String[]::new)),
                task -> new Thread(task).start());
        while (serve.address() == null) {
            assertFalse(run.isDone(), err.toString());
            Thread.sleep(5);
        }
    }

    int port() {
        return serve.address().getPort();
    }

    /** Returns the printed output of the server. */
    String printed() {
        return err.toString();
    }

    private static HttpRequest.Builder request(int port, String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
    }

    HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return client.send(request(port(), path).build(), HttpResponse.BodyHandlers.ofString());
    }

    /** Returns the counts when they fulfill a condition, or after the longest wait: a request is counted after its answer. */
    String metrics(Predicate<String> condition) throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Patience.HANG_SECONDS);
        String metrics;
        do {
            metrics = get("/metrics").body();
        } while (!condition.test(metrics) && System.nanoTime() - end < 0);
        return metrics;
    }

    HttpResponse<String> post(String path, String body, String... headers) throws IOException, InterruptedException {
        return client.send(posted(path, body, headers), HttpResponse.BodyHandlers.ofString());
    }

    CompletableFuture<HttpResponse<String>> send(String path, String body) {
        return client.sendAsync(posted(path, body), HttpResponse.BodyHandlers.ofString());
    }

    private HttpRequest posted(String path, String body, String... headers) {
        return posted(port(), path, body, headers);
    }

    /** Returns a request to a server of this machine. */
    static HttpRequest posted(int port, String path, String body, String... headers) {
        HttpRequest.Builder request = request(port, path).POST(HttpRequest.BodyPublishers.ofString(body));
        return (headers.length > 0 ? request.headers(headers) : request).build();
    }

    /** Returns the JSON of an answer, which must not be an error. */
    JsonNode json(HttpResponse<String> response) throws IOException {
        assertEquals(200, response.statusCode(), response.body());
        return JSON.readTree(response.body());
    }

    @Override
    public void close() {
        serve.stop();
        assertEquals(0, run.join());
    }
}
