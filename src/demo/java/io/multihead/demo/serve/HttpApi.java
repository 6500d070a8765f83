package io.multihead.demo.serve;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.multihead.cache.CacheFullException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/** Requests and answers of HTTP: routes, keys, limits of sizes, and errors. */
final class HttpApi implements AutoCloseable {
    private static final int MOST_BYTES = 8 << 20;
    private static final int STOP_SECONDS = 30;
    private static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Metrics metrics;
    private final byte @Nullable [] key;
    private final List<String> models = new ArrayList<>();

    /** Answers a request; null if it has been answered. */
    @FunctionalInterface
    interface Answer {
        @Nullable
        JsonNode to(Fields fields, HttpExchange exchange) throws IOException, InterruptedException;
    }

    /**
     * Binds an address.
     *
     * @param key that requests must have; null for none
     */
    HttpApi(InetSocketAddress address, Metrics metrics, @Nullable String key) throws IOException {
        this.metrics = metrics;
        this.key = key == null ? null : key.getBytes(StandardCharsets.UTF_8);
        server = HttpServer.create(address, 0);
        server.setExecutor(threads);
        server.createContext(
                "/",
                exchange -> handle(exchange, "/", "", (fields, same) -> {
                    throw ApiException.wrong(404, exchange.getRequestURI().getPath() + ": nothing is here");
                }));
        server.createContext(
                "/health",
                exchange -> handle(exchange, "/health", "GET", (fields, same) -> JsonNodeFactory.instance
                        .objectNode()
                        .put("status", "ok")));
        server.createContext("/v1/models", exchange -> handle(exchange, "/v1/models", "GET", (fields, same) -> list()));
    }

    /** Adds a name to the list of models. */
    void model(String name) {
        models.add(name);
    }

    /** Adds a route of requests with a JSON object. */
    void post(String path, Answer answer) {
        server.createContext(path, exchange -> handle(exchange, path, "POST", answer));
    }

    /** Adds a route of a text. */
    void text(String path, java.util.function.Supplier<String> text) {
        server.createContext(
                path,
                exchange -> handle(exchange, path, "GET", (fields, same) -> {
                    reply(exchange, path, 200, "text/plain; charset=utf-8", text.get());
                    return null;
                }));
    }

    void start() {
        server.start();
    }

    InetSocketAddress address() {
        return server.getAddress();
    }

    /** Ends, once the requests that run are answered, or after half a minute. */
    @Override
    public void close() {
        server.stop(STOP_SECONDS);
        threads.shutdownNow();
    }

    private void handle(HttpExchange exchange, String path, String method, Answer answer) {
        try (exchange) {
            try {
                authorise(exchange);
                if (!exchange.getRequestURI().getPath().equals(path) && !path.equals("/")) {
                    throw ApiException.wrong(404, exchange.getRequestURI().getPath() + ": nothing is here");
                }
                if (!method.isEmpty() && !exchange.getRequestMethod().equals(method)) {
                    throw ApiException.wrong(405, exchange.getRequestMethod() + ": expected " + method);
                }
                Fields fields =
                        new Fields("", method.equals("POST") ? body(exchange) : JsonNodeFactory.instance.objectNode());
                JsonNode answered = answer.to(fields, exchange);
                if (answered != null) {
                    reply(exchange, path, 200, "application/json", answered.toString());
                } else {
                    metrics.request(path, 200);
                }
            } catch (RuntimeException | InterruptedException failed) {
                ApiException error = error(failed);
                if (error.status() == 429) {
                    exchange.getResponseHeaders().set("Retry-After", "1");
                }
                reply(
                        exchange,
                        path,
                        error.status(),
                        "application/json",
                        error.json().toString());
            }
        } catch (IOException left) {
            metrics.request(path, 499); // the client has gone away
        }
    }

    /** Returns the error that a client is told of; of a fault of the server it is told no more than that. */
    static ApiException error(Exception failed) {
        return switch (failed) {
            case ApiException own -> own;
            case CacheFullException full -> ApiException.failed(503, String.valueOf(full.getMessage()));
            case IllegalArgumentException wrong -> ApiException.wrong(400, String.valueOf(wrong.getMessage()));
            case IllegalStateException closed -> ApiException.failed(503, String.valueOf(closed.getMessage()));
            case InterruptedException stop -> ApiException.failed(503, "the server stops");
            default -> ApiException.failed(500, failed.getClass().getSimpleName());
        };
    }

    private void authorise(HttpExchange exchange) {
        if (key == null) {
            return;
        }
        String given = exchange.getRequestHeaders().getFirst("Authorization");
        byte[] bytes = given == null || !given.startsWith("Bearer ")
                ? new byte[0]
                : given.substring("Bearer ".length()).getBytes(StandardCharsets.UTF_8);
        if (!MessageDigest.isEqual(key, bytes)) {
            throw ApiException.wrong(401, "Authorization: expected Bearer and the key of this server");
        }
    }

    private static JsonNode body(HttpExchange exchange) throws IOException {
        try (InputStream in = exchange.getRequestBody()) {
            byte[] bytes = in.readNBytes(MOST_BYTES + 1);
            if (bytes.length > MOST_BYTES) {
                throw ApiException.wrong(413, "the request has more than " + MOST_BYTES + " bytes");
            }
            try {
                return JSON.readTree(bytes);
            } catch (JacksonException malformed) {
                throw ApiException.wrong(400, "the request is no JSON: " + malformed.getOriginalMessage());
            }
        }
    }

    private JsonNode list() {
        ObjectNode root = JsonNodeFactory.instance.objectNode().put("object", "list");
        ArrayNode data = root.putArray("data");
        models.forEach(name -> data.addObject()
                .put("id", name)
                .put("object", "model")
                .put("created", 0)
                .put("owned_by", "multihead"));
        return root;
    }

    private void reply(HttpExchange exchange, String path, int status, String type, String text) throws IOException {
        metrics.request(path, status);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }
}
