package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.decoder.FamilyModel;
import io.multihead.support.ChildJvm;
import io.multihead.support.Patience;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests of hostile and careless clients. Other tests check the members of answers. */
class ServeProtocolTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String CHAT = "/v1/chat/completions";
    private static final String KEY = "secret";

    @TempDir
    static Path folder;

    private static RunningServer server;

    @BeforeAll
    static void serve() throws Exception {
        Path model = folder.resolve("small.gguf");
        FamilyModel.writeChat(model, FamilyModel.TOOL_TEMPLATE, 1024);
        server = new RunningServer("--model", model.toString(), "--api-key", KEY);
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static HttpResponse<String> post(String body) throws Exception {
        return server.post(CHAT, body, "Authorization", "Bearer " + KEY);
    }

    private static String chat(String more) {
        return "{\"messages\": [{\"role\": \"user\", \"content\": \"ab\"}], \"seed\": 1, \"max_tokens\": 5" + more
                + "}";
    }

    private static JsonNode error(String body) throws Exception {
        HttpResponse<String> response = post(body);
        assertEquals(400, response.statusCode(), response.body());
        return JSON.readTree(response.body()).path("error");
    }

    private static List<JsonNode> events(String body) throws Exception {
        HttpResponse<String> response = post(body);
        assertEquals(200, response.statusCode(), response.body());
        List<JsonNode> events = new ArrayList<>();
        for (String line : response.body().lines().toList()) {
            if (line.startsWith("data: {")) {
                events.add(JSON.readTree(line.substring("data: ".length())));
            }
        }
        return events;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                ", \"logit_bias\": [1] | logit_bias",
                ", \"logit_bias\": [] | logit_bias",
                ", \"logit_bias\": \"a\" | logit_bias",
                ", \"logit_bias\": true | logit_bias",
                ", \"logit_bias\": {\"99999999\": 1} | logit_bias",
                ", \"stream_options\": {\"include_usage\": true} | stream_options",
                ", \"stream_options\": {}, \"stream\": false | stream_options",
                ", \"stop\": \"\" | stop",
                ", \"stop\": [\"a\", \"\"] | stop",
                ", \"chat_template_kwargs\": {\"messages\": \"x\"} | chat_template_kwargs.messages",
                ", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": 5}}] | tools[0].function.parameters",
                ", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\", \"strict\": 5}}] | tools[0].function.strict",
            })
    void aWrongMemberIsNamed(String members, String parameter) throws Exception {
        JsonNode error = error(chat(members));
        assertEquals(parameter, error.path("param").asText(), error.toString());
        assertTrue(error.path("message").asText().startsWith(parameter), error.toString());
    }

    /** Load balancers send HEAD requests, which have an answer without a body. */
    @Test
    void headHasTheHeadersOfGet() throws Exception {
        for (String path : List.of("/health", "/metrics", "/", "/v1/models", "/v1/completions")) {
            String get = exchange("GET", path);
            String head = exchange("HEAD", path);
            assertTrue(head.endsWith("\r\n\r\n"), head);
            assertEquals(get.substring(0, get.indexOf("\r\n")), head.substring(0, head.indexOf("\r\n")), path);
            int length = get.length() - get.indexOf("\r\n\r\n") - 4;
            assertTrue(
                    path.equals("/metrics")
                            || path.equals("/v1/completions")
                            || head.toLowerCase(Locale.ROOT).contains("content-length: " + length + "\r\n"),
                    head);
        }
    }

    @Test
    void eachRequestIsCountedOnce() throws Exception {
        String model = folder.resolve("small.gguf").toString();
        try (RunningServer counted = new RunningServer("--model", model)) {
            for (String path : List.of("/", "/metrics", "/health")) {
                exchange(counted, "GET", path);
                exchange(counted, "HEAD", path);
            }
            counted.post("/v1/completions", "{\"prompt\": \"ab\", \"max_tokens\": 2}");
            counted.post("/v1/completions", "{\"prompt\": \"ab\", \"max_tokens\": 2, \"stream\": true}");
            int[] earlier = {1}; // a request for the counts is not in its own answer
            boolean[] all = {false};
            String metrics = counted.metrics(text -> all[0] = text.contains(count("/metrics", ++earlier[0]))
                    && Stream.of("/", "/health", "/v1/completions").allMatch(path -> text.contains(count(path, 2))));
            assertTrue(all[0], metrics);
        }
    }

    @Test
    void aClientThatLeavesWithinItsAnswerIsCountedOnce() throws Exception {
        Metrics metrics = new Metrics();
        String large = "a".repeat(24 << 20); // more than the system's buffers
        try (HttpApi http = new HttpApi(new InetSocketAddress("127.0.0.1", 0), metrics, null)) {
            http.text("/large", () -> large);
            http.start();
            try (Socket socket = new Socket()) {
                socket.setReceiveBufferSize(1 << 12);
                socket.setSoLinger(true, 0); // closed by a reset
                socket.connect(http.address());
                socket.getOutputStream()
                        .write("GET /large HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                assertTrue(socket.getInputStream().read() >= 0);
            }
            String requests = "";
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Patience.HANG_SECONDS);
            while (requests.isEmpty() && System.nanoTime() - end < 0) {
                Thread.sleep(5);
                requests = metrics.text(0, 0, null)
                        .lines()
                        .filter(line -> line.startsWith("multihead_requests_total"))
                        .collect(Collectors.joining("\n"));
            }
            assertEquals("multihead_requests_total{path=\"/large\",status=\"499\"} 1", requests);
        }
    }

    private static String count(String path, int requests) {
        return "multihead_requests_total{path=\"" + path + "\",status=\"200\"} " + requests + "\n";
    }

    private static String exchange(String method, String path) throws Exception {
        return exchange(server, method, path);
    }

    private static String exchange(RunningServer server, String method, String path) throws Exception {
        try (Socket socket = new Socket("127.0.0.1", server.port())) {
            String request = method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                    + "Authorization: Bearer " + KEY + "\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }

    @Test
    void argumentsOfCallsAreNamed() throws Exception {
        JsonNode error = error("""
                {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [{"id": "1",
                "type": "function", "function": {"name": "f", "arguments": "{"}}]}]}""");
        assertEquals(
                "messages[1].tool_calls[0].function.arguments",
                error.path("param").asText(),
                error.toString());
    }

    @Test
    void aMemberThatComesTwiceIsRefused() throws Exception {
        assertTrue(error(chat(", \"max_tokens\": 1")).path("message").asText().contains("max_tokens"));
    }

    @Test
    void aTopPOfZeroTakesTheMostProbableToken() throws Exception {
        assertEquals(
                JSON.readTree(post(chat(", \"temperature\": 0")).body()).path("choices"),
                JSON.readTree(post(chat(", \"top_p\": 0")).body()).path("choices"));
    }

    @Test
    void allEventsOfAStreamHaveOneTimeAndUsageInTheLast() throws Exception {
        String slow =
                ", \"stream\": true, \"stream_options\": {\"include_usage\": true}, \"logit_bias\": {\"2\": -100, \"260\": -100}";
        List<JsonNode> events = events(chat(slow).replace("\"max_tokens\": 5", "\"max_tokens\": 20"));
        Set<String> times = new HashSet<>();
        for (JsonNode event : events.subList(0, events.size() - 1)) {
            times.add(event.path("created").asText());
            assertTrue(event.has("usage") && event.path("usage").isNull(), event.toString());
        }
        assertEquals(1, times.size());
        assertTrue(events.getLast().path("choices").isEmpty());
        assertTrue(events.getLast().at("/usage/completion_tokens").asInt() > 0);
        assertFalse(events(chat(", \"stream\": true")).getFirst().has("usage"));
    }

    @Test
    void whatAGrammarLacksIsRefusedBeforeAStreamBegins() throws Exception {
        String tools = ", \"tool_choice\": \"required\", \"tools\": [{\"type\": \"function\", \"function\": {\"name\":"
                + " \"f\", \"parameters\": {\"type\": \"object\", \"properties\": {\"a\": {\"not\": {}}}}}}]";
        error(chat(tools));
        error(chat(tools + ", \"stream\": true"));
    }

    /** Most clients send a key in UTF-8. The JDK's client sends ASCII only. */
    @Test
    void aKeyIsReadInUtf8() throws Exception {
        InetSocketAddress any = new InetSocketAddress("127.0.0.1", 0);
        try (HttpApi http = new HttpApi(any, new Metrics(), "schl\u00fcssel")) {
            http.start();
            for (String key : List.of("schl\u00fcssel", "schlussel")) {
                String request = "GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + key
                        + "\r\nConnection: close\r\n\r\n";
                try (Socket socket =
                        new Socket(http.address().getAddress(), http.address().getPort())) {
                    socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
                    String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                    assertTrue(answer.startsWith(key.equals("schlussel") ? "HTTP/1.1 401" : "HTTP/1.1 200"), answer);
                }
            }
        }
    }

    /** A client that first writes its whole request receives the answer, even to a large request. */
    @Test
    void aLargeRequestIsReadBeforeItIsRefused() throws Exception {
        byte[] body = new byte[12 << 20];
        Arrays.fill(body, (byte) ' ');
        for (String key : List.of(KEY, "other")) {
            String head = "POST " + CHAT + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + key
                    + "\r\nContent-Length: " + body.length + "\r\nConnection: close\r\n\r\n";
            try (Socket socket = new Socket("127.0.0.1", server.port())) {
                socket.getOutputStream().write(head.getBytes(StandardCharsets.UTF_8));
                socket.getOutputStream().write(body);
                String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertTrue(answer.startsWith(key.equals(KEY) ? "HTTP/1.1 413" : "HTTP/1.1 401"), answer);
            }
        }
    }

    /** Prints a number with the digits of the JVM's language, and then the counts. */
    static final class Counts {
        private Counts() {}

        public static void main(String[] none) {
            Metrics metrics = new Metrics();
            metrics.request("/", 200);
            System.out.println("own: " + String.format("%d", 3).codePointAt(0));
            metrics.text(3, 4, null).codePoints().forEach(c -> System.out.println("codePoint: " + c));
        }
    }

    /** The test uses a separate JVM, since the language applies to all threads of a JVM. */
    @Test
    void countsHaveTheDigitsOfPrometheusInAnyLanguage() throws Exception {
        List<String> lines = ChildJvm.run(Counts.class, List.of("-Duser.language=ar", "-Duser.country=EG"));
        assertTrue(lines.contains("own: " + (int) '\u0663'), lines.toString());
        int[] text = lines.stream()
                .filter(line -> line.startsWith("codePoint: "))
                .mapToInt(line -> Integer.parseInt(line.substring("codePoint: ".length())))
                .toArray();
        assertTrue(text.length > 100, lines.toString());
        assertTrue(Arrays.stream(text).allMatch(c -> c < 128), lines.toString());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "--api-key | ``",
                "--timeout | 0",
                "--timeout | -1",
                "--queue | -1",
                "--queue | 2147483647",
                "--port | 70000",
                "--port | -1",
                "--threads | 0",
            })
    void wrongValuesOfOptionsAreNamed(String option, String value) throws Exception {
        StringWriter err = new StringWriter();
        Serve serve = new Serve();
        Thread stops = new Thread(serve::stop); // a server that starts has accepted the value, and is stopped
        stops.setDaemon(true);
        stops.start();
        List<String> arguments =
                new ArrayList<>(List.of("--model", folder.resolve("small.gguf").toString(), option, value));
        if (!option.equals("--port")) {
            arguments.addAll(List.of("--port", "0"));
        }
        assertEquals(2, serve.run(new PrintWriter(err, true), arguments.toArray(String[]::new)), err.toString());
        assertTrue(err.toString().startsWith(option + ": "), err.toString());
        stops.join();
    }
}
