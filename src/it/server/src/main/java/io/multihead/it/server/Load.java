package io.multihead.it.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Measures a server under the load of 64 clients: whether each text equals the text of the same request alone, errors,
 * memory, and tokens per second compared with the same requests to the library in this process. Then it measures the
 * delay of a short prompt behind a long prompt, and the cost of a request compared with the cost of the model.
 */
public final class Load {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PATH = "/v1/completions";
    private static final int CLIENTS = 64;
    private static final int RUNNING = 16;
    private static final int TOKENS = 64;
    private static final int ROUNDS = 3;
    private static final double MOST_ROUND_SECONDS = 20;
    private static final int TOO_MANY = 429;
    private static final int REQUESTS = 1500;
    private static final List<String> PROMPTS =
            List.of("Once upon a time", "Lily and Tom", "The big dog", "One day, a cat", "A little girl");

    private final ServerProcess server;
    private final List<String> alone;
    private final Sessions sessions;
    private final LongAdder refused = new LongAdder();

    private Load(ServerProcess server, List<String> alone, Sessions sessions) {
        this.server = server;
        this.alone = alone;
        this.sessions = sessions;
    }

    /**
     * Prints the figures. The arguments are a model and the minutes of load. Without arguments, a small model runs for
     * some seconds. Fails if a text differs or an answer is an error.
     */
    public static void main(String[] arguments) throws IOException, InterruptedException, ExecutionException {
        if (arguments.length > 0) {
            measure(Path.of(arguments[0]), Double.parseDouble(arguments[1]));
            return;
        }
        Path file = Files.createTempDirectory("load").resolve("small.gguf");
        FamilyModel.writeChat(file, "", 1024);
        try {
            measure(file, 0.1);
        } finally {
            Files.delete(file);
            Files.delete(file.getParent());
        }
    }

    private static void measure(Path file, double minutes)
            throws IOException, InterruptedException, ExecutionException {
        int threads = Runtime.getRuntime().availableProcessors();
        List<String> alone = alone(file);
        try (Compute cpu = Compute.threads(threads);
                LanguageModel model = LanguageModel.load(cpu, file);
                Sessions sessions = model.sessions(
                        SessionOptions.DEFAULT.withContextTokens(context(model)).withSessions(RUNNING));
                ServerProcess server = ServerProcess.start(file, "--sessions", String.valueOf(RUNNING))) {
            Load load = new Load(server, alone, sessions);
            System.out.printf(
                    "%s, %d threads, %d clients, %d at a time%n", file.getFileName(), threads, CLIENTS, RUNNING);
            load.throughput(Math.min(MOST_ROUND_SECONDS, minutes * 60 / 5));
            load.run(minutes);
            load.shortBesideLong(context(model));
            load.cost();
            require(server.stop() != 137, "the server ends by itself");
        }
    }

    private static int context(LanguageModel model) {
        return Math.min(model.contextTokens(), 4096);
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static String body(int seed, int tokens) {
        return "{\"prompt\": \"%s\", \"seed\": %d, \"max_tokens\": %d}"
                .formatted(PROMPTS.get(seed % PROMPTS.size()), seed, tokens);
    }

    /** Returns the text of each request from a server with one request at a time. */
    private static List<String> alone(Path file) throws IOException, InterruptedException {
        List<String> texts = new ArrayList<>();
        try (ServerProcess server = ServerProcess.start(file, "--sessions", "1", "--threads", "1");
                Connection connection = new Connection(server.port())) {
            for (int seed = 0; seed < CLIENTS; seed++) {
                Connection.Answer answer = connection.post(PATH, body(seed, TOKENS));
                require(answer.status() == 200, answer.body());
                texts.add(JSON.readTree(answer.body()).at("/choices/0/text").asText());
            }
            server.stop();
        }
        require(texts.stream().distinct().count() > CLIENTS / 2, "texts differ");
        return texts;
    }

    @FunctionalInterface
    private interface Client {
        /** Requests the text of a seed, and returns the number of its tokens. */
        int ask(int seed) throws IOException, InterruptedException;
    }

    @FunctionalInterface
    private interface Clients {
        Client open(List<AutoCloseable> resources) throws IOException;
    }

    /** Runs all clients. Each requests texts in another order until the time is over. Returns tokens per second. */
    private double clients(double seconds, Clients kind) throws InterruptedException, ExecutionException {
        long start = System.nanoTime();
        long end = start + (long) (seconds * 1e9);
        LongAdder tokens = new LongAdder();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                Random random = new Random(i);
                all.add(threads.submit(() -> {
                    List<AutoCloseable> resources = new ArrayList<>();
                    Client client = kind.open(resources);
                    while (System.nanoTime() < end) {
                        tokens.add(client.ask(random.nextInt(CLIENTS)));
                    }
                    for (AutoCloseable resource : resources) {
                        resource.close();
                    }
                    return null;
                }));
            }
            for (Future<?> each : all) {
                each.get();
            }
        }
        return tokens.sum() / ((System.nanoTime() - start) * 1e-9);
    }

    private double byServer(double seconds) throws InterruptedException, ExecutionException {
        return clients(seconds, resources -> {
            Connection connection = new Connection(server.port());
            resources.add(connection);
            return seed -> {
                Connection.Answer answer = connection.post(PATH, body(seed, TOKENS));
                if (answer.status() == TOO_MANY) {
                    refused.increment();
                    return 0;
                }
                require(answer.status() == 200, answer.status() + ": " + answer.body());
                JsonNode json = JSON.readTree(answer.body());
                requireAlone(seed, json.at("/choices/0/text").asText());
                return json.at("/usage/completion_tokens").asInt();
            };
        });
    }

    private void requireAlone(int seed, String text) {
        require(text.equals(alone.get(seed)), "seed " + seed + " has the text " + text + ", alone " + alone.get(seed));
    }

    private double byLibrary(double seconds) throws InterruptedException, ExecutionException {
        Semaphore turns = new Semaphore(RUNNING, true);
        return clients(seconds, resources -> seed -> {
            turns.acquire();
            try {
                GeneratedText text = generate(seed, TOKENS);
                requireAlone(seed, text.text());
                return text.tokens().size();
            } finally {
                turns.release();
            }
        });
    }

    private GeneratedText generate(int seed, int tokens) {
        try (Session session = sessions.open()) {
            session.append(PROMPTS.get(seed % PROMPTS.size()));
            return session.generate(
                    GenerationOptions.DEFAULT.withSampling(Sampling.of(1, seed)).withMaxTokens(tokens));
        }
    }

    private void throughput(double seconds) throws InterruptedException, ExecutionException {
        byServer(seconds);
        byLibrary(seconds);
        double[] ratios = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            double served = byServer(seconds);
            double direct = byLibrary(seconds);
            ratios[i] = served / direct;
            System.out.printf(
                    "tokens a second: %.0f by the server, %.0f by the library, %.2f%n", served, direct, ratios[i]);
        }
        Arrays.sort(ratios);
        System.out.printf("median of the ratios: %.2f%n", ratios[ROUNDS / 2]);
    }

    private void run(double minutes) throws IOException, InterruptedException, ExecutionException {
        double slice = minutes * 60 / 10;
        List<Long> memory = new ArrayList<>(List.of(server.residentMemory()));
        double tokens = 0;
        for (int i = 0; i < 10; i++) {
            tokens += byServer(slice);
            memory.add(server.residentMemory());
        }
        System.out.printf(
                "%.1f minutes: %.0f tokens a second, every text as alone, %d times status 429; resident memory in MiB %s%n",
                minutes, tokens / 10, refused.sum(), memory);
    }

    private void shortBesideLong(int context) throws IOException, InterruptedException, ExecutionException {
        String words = "One day, a cat and a dog went to the park. ";
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                Connection connection = new Connection(server.port())) {
            JsonNode counted = JSON.readTree(connection
                    .post("/tokenize", "{\"content\": \"" + words.repeat(8) + "\"}")
                    .body());
            int most = Math.min(4000, context - 2 * TOKENS);
            String text = words.repeat(most * 8 / counted.get("tokens").size());
            for (int i = 0; i < PROMPTS.size(); i++) {
                String begin = PROMPTS.get(i); // each prefix is new, since a cached one is not computed
                Future<?> running = threads.submit(() -> {
                    try (Connection other = new Connection(server.port())) {
                        String body = "{\"prompt\": \"%s %s\", \"seed\": 1, \"max_tokens\": 1}".formatted(begin, text);
                        Connection.Answer answer = other.post(PATH, body);
                        require(answer.status() == 200, answer.body());
                    }
                    return null;
                });
                TimeUnit.MILLISECONDS.sleep(20);
                long start = System.nanoTime();
                try (Connection other = new Connection(server.port())) {
                    other.awaitFirstEvent(PATH, body(i, 2).replace("{", "{\"stream\": true, "));
                }
                double seconds = (System.nanoTime() - start) * 1e-9;
                String state = running.isDone() ? ", which had ended" : "";
                running.get();
                System.out.printf("first token beside a prompt of %d tokens%s: %.3f s%n", most, state, seconds);
            }
        }
    }

    private void cost() throws IOException {
        long[] server = new long[REQUESTS];
        long[] library = new long[REQUESTS];
        try (Connection connection = new Connection(this.server.port())) {
            for (int i = 0; i < REQUESTS; i++) {
                long start = System.nanoTime();
                Connection.Answer answer = connection.post(PATH, body(i, 1));
                server[i] = System.nanoTime() - start;
                require(answer.status() == 200, answer.body());
                start = System.nanoTime();
                generate(i, 1);
                library[i] = System.nanoTime() - start;
            }
        }
        Arrays.sort(server);
        Arrays.sort(library);
        System.out.printf(
                "a request of one token less the library's call, in ms: least %.2f, quarter %.2f, median %.2f, nine tenths %.2f%n",
                (server[0] - library[0]) * 1e-6,
                (server[REQUESTS / 4] - library[REQUESTS / 4]) * 1e-6,
                (server[REQUESTS / 2] - library[REQUESTS / 2]) * 1e-6,
                (server[REQUESTS * 9 / 10] - library[REQUESTS * 9 / 10]) * 1e-6);
    }
}
