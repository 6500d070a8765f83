package io.multihead.demo.serve;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadFeature;
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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** HTTP requests and answers: routes, keys, size limits, and errors. */
final class HttpApi implements AutoCloseable {
    /** The method that load balancers use. It has the answer of GET without the body. */
    private static final String HEAD = "HEAD";

    private static final int MOST_BYTES = 8 << 20;
    private static final int STOP_SECONDS = 30;
    /** Connections that the system accepts before the server handles them. */
    private static final int BACKLOG = 1024;

    /** The name that Jackson gives to a request; its line and column follow. */
    private static final Pattern SOURCE = Pattern.compile("\\[Source: [^;]*; (line: \\d+, column: \\d+)]");

    private static final ObjectMapper JSON = new ObjectMapper(JsonFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Metrics metrics;
    private final byte @Nullable [] key;
    private final List<String> models = new ArrayList<>();
    /** The answers by path and method. */
    private final Map<String, Map<String, Answer>> routes = new HashMap<>();
    /** The paths that need no key. */
    private final Set<String> open = new HashSet<>();

    private boolean isRunning;

    /** Answers a request. The result is null if the request has already been answered and counted. */
    @FunctionalInterface
    interface Answer {
        @Nullable
        JsonNode to(Fields fields, HttpExchange exchange) throws IOException, InterruptedException;
    }

    /**
     * Binds an address.
     *
     * @param key that requests must have, or null
     */
    HttpApi(InetSocketAddress address, Metrics metrics, @Nullable String key) throws IOException {
        this.metrics = metrics;
        this.key = key == null ? null : key.getBytes(StandardCharsets.UTF_8);
        server = HttpServer.create(address, BACKLOG);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        get("/health", () -> JsonNodeFactory.instance.objectNode().put("status", "ok"));
        get("/v1/models", this::list);
    }

    void model(String name) {
        models.add(name);
    }

    /** Adds a route for requests with a JSON object. */
    void post(String path, Answer answer) {
        add("POST", path, answer);
    }

    /** Adds a route for requests without a body. */
    void get(String path, Supplier<JsonNode> answer) {
        add("GET", path, (fields, exchange) -> answer.get());
    }

    void text(String path, Supplier<String> text) {
        add("GET", path, (fields, exchange) -> {
            reply(exchange, path, 200, "text/plain; charset=utf-8", text.get());
            return null;
        });
    }

    /** Adds a page. Browsers may read it without a key, because they have none. */
    void page(String path, String html) {
        open.add(path);
        add("GET", path, (fields, exchange) -> {
            exchange.getResponseHeaders()
                    .set(
                            "Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:");
            reply(exchange, path, 200, "text/html; charset=utf-8", html);
            return null;
        });
    }

    private void add(String method, String path, Answer answer) {
        routes.computeIfAbsent(path, any -> new TreeMap<>()).put(method, answer);
    }

    void start() {
        server.start();
        isRunning = true;
    }

    InetSocketAddress address() {
        return server.getAddress();
    }

    /**
     * Ends after running requests are answered, or after half a minute. Ends immediately before the start and after the
     * end.
     */
    @Override
    public void close() {
        server.stop(isRunning ? STOP_SECONDS : 0);
        isRunning = false;
        threads.shutdownNow();
    }

    private void handle(HttpExchange exchange) {
        String asked = exchange.getRequestURI().getPath();
        Map<String, Answer> methods = routes.getOrDefault(asked, Map.of());
        String path = methods.isEmpty() ? "other" : asked; // metrics for all requested paths would be unlimited
        String method = exchange.getRequestMethod();
        try (exchange) {
            try {
                if (!open.contains(path)) {
                    authorize(exchange);
                }
                if (methods.isEmpty()) {
                    throw ApiException.wrong(
                            404, asked + ": not found; expected one of " + new TreeSet<>(routes.keySet()));
                }
                Answer answer = methods.get(method.equals(HEAD) ? "GET" : method);
                if (answer == null) {
                    throw ApiException.wrong(405, method + ": expected " + String.join(" or ", methods.keySet()));
                }
                Fields fields =
                        new Fields("", method.equals("POST") ? body(exchange) : JsonNodeFactory.instance.objectNode());
                JsonNode answered = answer.to(fields, exchange);
                if (answered != null) {
                    reply(exchange, path, 200, "application/json", answered.toString());
                }
            } catch (RuntimeException | InterruptedException failed) {
                ApiException error = error(failed);
                drain(exchange);
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
            metrics.request(path, Metrics.CLIENT_LEFT);
        }
    }

    /** Returns the error for a client. For a fault of the server, it has no details. */
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

    private void authorize(HttpExchange exchange) {
        if (key == null) {
            return;
        }
        String given = exchange.getRequestHeaders().getFirst("Authorization");
        byte[] bytes = given == null || !given.startsWith("Bearer ")
                ? new byte[0]
                : given.substring("Bearer ".length()).getBytes(StandardCharsets.ISO_8859_1); // the server decodes it so
        if (!MessageDigest.isEqual(key, bytes)) {
            throw ApiException.wrong(401, "Authorization: expected Bearer and the key of this server");
        }
    }

    private static JsonNode body(HttpExchange exchange) throws IOException {
        byte[] bytes = exchange.getRequestBody().readNBytes(MOST_BYTES + 1);
        if (bytes.length > MOST_BYTES) {
            throw ApiException.wrong(413, "the request has more than " + MOST_BYTES + " bytes");
        }
        return json(bytes);
    }

    /**
     * Reads JSON. Bytes that are not text in the encoding that the parser detects cause exceptions of other types than
     * the parser's.
     */
    static JsonNode json(byte[] bytes) {
        try {
            return JSON.readTree(bytes);
        } catch (JacksonException malformed) {
            throw ApiException.wrong(
                    400,
                    "the request is not JSON: "
                            + SOURCE.matcher(malformed.getOriginalMessage()).replaceAll("$1"));
        } catch (IOException noText) {
            throw ApiException.wrong(400, "the request is not JSON: " + noText.getMessage());
        }
    }

    /**
     * Reads the rest of a request, within limits. Otherwise, the client would still write, and its connection would
     * fail without an answer.
     */
    private static void drain(HttpExchange exchange) throws IOException {
        InputStream in = exchange.getRequestBody();
        byte[] some = new byte[1 << 16];
        long left = 2L * MOST_BYTES;
        for (int count = 0; count >= 0 && left > 0; count = in.read(some)) {
            left -= count;
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

    /** Sends an answer, and counts it. */
    private void reply(HttpExchange exchange, String path, int status, String type, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        if (exchange.getRequestMethod().equals(HEAD)) {
            exchange.getResponseHeaders().set("Content-Length", String.valueOf(bytes.length));
            exchange.sendResponseHeaders(status, -1);
        } else {
            exchange.sendResponseHeaders(status, bytes.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(bytes);
            }
        }
        metrics.request(path, status);
    }
}
