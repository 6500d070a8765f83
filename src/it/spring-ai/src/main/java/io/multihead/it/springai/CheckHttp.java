package io.multihead.it.springai;

import io.multihead.compute.Compute;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Flux;

/**
 * Requires that an HTTP client receives the first event of a stream, and an answer to another request, while the next
 * token is computed, on servlets and on an event loop with one thread. The steps of the model wait until the client has
 * received both.
 */
final class CheckHttp {
    private static final long PATIENCE_SECONDS = 60;

    private final CountDownLatch client = new CountDownLatch(1);
    private volatile boolean hasEvent;
    private volatile boolean wasImpatient;

    private CheckHttp() {}

    static void run() throws Exception {
        Path file = Files.createTempFile("chat", ".gguf");
        FamilyModel.write(file);
        try {
            new CheckHttp().check(file, "MVC", Servers::servlets);
            new CheckHttp().check(file, "WebFlux", Servers::eventLoop);
        } finally {
            Files.delete(file);
        }
    }

    /** Starts a server of a controller on a free port of the loopback interface. */
    @FunctionalInterface
    interface Start {
        Servers.Running start(Api controller) throws Exception;
    }

    private void check(Path file, String name, Start start) throws Exception {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(20).withSampling(Sampling.of(2, 5));
        try (Compute cpu = Compute.on(helper -> waitForClient(), 2);
                LanguageModel loaded = LanguageModel.load(cpu, file).withChatTemplate(ChatTemplate.CHATML);
                Sessions sessions = loaded.sessions(SessionOptions.DEFAULT)) {
            ChatModel model = new MultiheadChatModel("tiny", sessions, options);
            try (Servers.Running server = start.start(new Api(this, model));
                    HttpClient http = HttpClient.newHttpClient()) {
                talk(http, "http://127.0.0.1:" + server.port(), name);
            }
        }
        System.out.println("Spring AI: " + name + " streams while it answers others");
    }

    private void talk(HttpClient http, String address, String name) throws IOException, InterruptedException {
        int events = 0;
        try (InputStream body = http.send(request(address + "/chat"), BodyHandlers.ofInputStream())
                        .body();
                BufferedReader lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("data:") && ++events == 1) {
                    String pong = http.send(request(address + "/ping"), BodyHandlers.ofString())
                            .body();
                    require(pong.equals("pong"), name + ": ping: " + pong);
                    client.countDown();
                }
            }
        }
        require(events > 1, name + ": events: " + events);
        require(!wasImpatient, name + ": no event or no answer to another request before the stream went on");
    }

    private static HttpRequest request(String address) {
        return HttpRequest.newBuilder(URI.create(address))
                .timeout(Duration.ofSeconds(2 * PATIENCE_SECONDS))
                .build();
    }

    /** Runs within each step. After an event, the next token waits until the client has received the event. */
    private void waitForClient() {
        try {
            if (hasEvent && !wasImpatient && !client.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                wasImpatient = true;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The controller of both servers. */
    @RestController
    public static final class Api {
        private final CheckHttp check;
        private final ChatModel model;

        Api(CheckHttp check, ChatModel model) {
            this.check = check;
            this.model = model;
        }

        /** Returns an answer as a stream. */
        @GetMapping(path = "/chat", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
        public Flux<String> chat() {
            return model.stream(new Prompt("Hi"))
                    .map(part -> part.getResult().getOutput().getText() + "|")
                    .doOnNext(part -> check.hasEvent = true);
        }

        /** Returns immediately. */
        @GetMapping(path = "/ping", produces = MediaType.TEXT_PLAIN_VALUE)
        public String ping() {
            return "pong";
        }
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
