package io.multihead.demo.serve;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.demo.Commands;
import io.multihead.demo.Resources;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Serves models with OpenAI's protocol until it is interrupted. */
@Command(
        name = "serve",
        sortOptions = false,
        description =
                "Serves a language model, an embedding model and a reranker with OpenAI's protocol, until Ctrl-C. An answer does not"
                        + " depend on other requests.")
public final class Serve implements Callable<Integer> {
    private static final String REQUEST_SECONDS = "sun.net.httpserver.maxReqTime";
    private static final int MOST = 100_000;
    private static final int MOST_PORT = 65_535;

    @Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--model",
            description = "language model: GGUF file, or folder with config.json and safetensors files")
    private @Nullable Path model;

    @Option(names = "--embed", description = "embedding model, an encoder or a language model: folder or GGUF file")
    private @Nullable Path embed;

    @Option(names = "--rerank", description = "reranker, an encoder or a language model: folder or GGUF file")
    private @Nullable Path rerank;

    @Option(names = "--host", description = "address to bind (default: ${DEFAULT-VALUE})", defaultValue = "127.0.0.1")
    private String host = "127.0.0.1";

    @Option(names = "--port", description = "0 for any free port (default: ${DEFAULT-VALUE})", defaultValue = "8080")
    private int port;

    @Option(names = "--threads", description = "default: processors of this machine")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(names = "--context", description = "tokens of a prompt and its answer (default: the model's, at most 4096)")
    private @Nullable Integer context;

    @Option(
            names = "--sessions",
            description = "texts that are generated at the same time (default: ${DEFAULT-VALUE})",
            defaultValue = "8")
    private int sessions;

    @Option(
            names = "--queue",
            description = "requests that wait for a session; others get status 429 (default: ${DEFAULT-VALUE})",
            defaultValue = "64")
    private int queue;

    @Option(
            names = "--timeout",
            description = "maximum seconds of one text (default: ${DEFAULT-VALUE})",
            defaultValue = "600")
    private int timeout;

    @Option(
            names = "--warm-up",
            description = "seconds of warm-up prompts before the first request; 0 for none (default: ${DEFAULT-VALUE})",
            defaultValue = "2")
    private int warmUp;

    @Option(
            names = "--cache",
            description = "format of keys and values: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE})",
            defaultValue = "F16")
    private CacheFormat cache = CacheFormat.F16;

    @Option(names = "--api-key", description = "key that requests must send as Authorization: Bearer KEY")
    private @Nullable String apiKey;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this help and exit")
    private boolean help;

    private final CountDownLatch stopped = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile @Nullable InetSocketAddress address;

    /** Serves and exits with 0, with 1 after a failure, or with 2 for wrong options. */
    public static void main(String[] arguments) {
        // the JDK's server reads this property once; without it, a client that never ends its request keeps a thread
        if (System.getProperty(REQUEST_SECONDS) == null) {
            System.setProperty(REQUEST_SECONDS, "60");
        }
        Serve serve = new Serve();
        Runtime.getRuntime().addShutdownHook(new Thread(serve::stop, "serve-stop"));
        System.exit(serve.run(new PrintWriter(System.err, true, StandardCharsets.UTF_8), arguments));
    }

    /** Serves, and returns the exit code. */
    int run(PrintWriter err, String... arguments) {
        try {
            return Commands.of(this)
                    .setErr(err)
                    .setCaseInsensitiveEnumValuesAllowed(true)
                    .execute(arguments);
        } finally {
            ended.countDown();
        }
    }

    /** Ends the server after running requests are answered. */
    void stop() {
        stopped.countDown();
        try {
            ended.await();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns the address, or null before it is bound. */
    @Nullable
    InetSocketAddress address() {
        return address;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (model == null && embed == null && rerank == null) {
            throw new ParameterException(
                    spec.commandLine(), "--model, --embed or --rerank: absent; expected one of them");
        }
        if (apiKey != null && apiKey.isEmpty()) {
            throw new ParameterException(spec.commandLine(), "--api-key: empty; expected a key");
        }
        require("--port", port, 0, MOST_PORT);
        require("--threads", threads, 1, MOST);
        require("--sessions", sessions, 1, MOST);
        require("--queue", queue, 0, MOST);
        require("--timeout", timeout, 1, Integer.MAX_VALUE);
        require("--warm-up", warmUp, 0, Integer.MAX_VALUE);
        if (context != null) {
            require("--context", context, 0, Integer.MAX_VALUE);
        }
        Metrics metrics = new Metrics();
        try (HttpApi bound = bind(metrics); // fails before models are loaded
                Compute cpu = Compute.threads(threads);
                Loaded loaded = load(cpu);
                HttpApi http = bound) { // closed before the models that its requests use
            TextApi texts = texts(http, loaded, metrics);
            vectors(http, loaded);
            Room room = loaded.room();
            http.text(
                    "/metrics",
                    () -> metrics.text(room.running(), room.waiting(), texts == null ? null : texts.sessions()));
            warmUp(loaded.model);
            if (stopped.getCount() == 0) {
                return 0;
            }
            http.start();
            address = http.address();
            spec.commandLine()
                    .getErr()
                    .println("http://" + host + ":" + http.address().getPort() + "/v1");
            stopped.await();
        }
        return 0;
    }

    /**
     * Warms up the language model. A failure is not fatal: requests then run code that is not compiled, and report
     * their own errors.
     */
    private void warmUp(@Nullable LanguageModel language) {
        if (language == null) {
            return;
        }
        try {
            WarmUp.run(language, sessionOptions(language), Duration.ofSeconds(warmUp), () -> stopped.getCount() == 0);
        } catch (RuntimeException failed) {
            spec.commandLine().getErr().println("warm-up: " + failed.getMessage());
        }
    }

    private void require(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new ParameterException(
                    spec.commandLine(), option + ": " + value + "; expected " + least + " to " + most);
        }
    }

    private HttpApi bind(Metrics metrics) throws IOException {
        InetSocketAddress wanted = new InetSocketAddress(host, port);
        if (wanted.isUnresolved()) {
            throw new ParameterException(
                    spec.commandLine(), "--host: " + host + "; expected a name or an address of this machine");
        }
        try {
            return new HttpApi(wanted, metrics, apiKey);
        } catch (BindException taken) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--host, --port: " + host + ":" + port + " (" + taken.getMessage()
                            + "); expected an address of this machine and a free port, or 0 for any",
                    taken);
        }
    }

    /** The served models. */
    private record Loaded(
            @Nullable LanguageModel model,
            @Nullable Sessions sessions,
            VectorModels.@Nullable Embedding embedding,
            VectorModels.@Nullable Ranking ranking,
            Room room)
            implements AutoCloseable {
        @Override
        public void close() {
            if (sessions != null) {
                sessions.close();
            }
            if (model != null) {
                model.close();
            }
            if (embedding != null) {
                embedding.close().run();
            }
            if (ranking != null) {
                ranking.close().run();
            }
        }
    }

    private Loaded load(Compute cpu) throws IOException {
        LanguageModel language = model == null ? null : LanguageModel.load(cpu, model);
        Sessions opened = null;
        if (language != null) {
            opened = Commands.option(spec.commandLine(), () -> language.sessions(sessionOptions(language)));
        }
        return new Loaded(
                language,
                opened,
                embed == null ? null : VectorModels.Embedding.load(cpu, embed),
                rerank == null ? null : VectorModels.Ranking.load(cpu, rerank, this::rankingOptions),
                new Room(sessions, queue, Duration.ofSeconds(timeout)));
    }

    private SessionOptions sessionOptions(LanguageModel language) {
        int tokens = context == null ? Math.min(language.contextTokens(), 4096) : context;
        return SessionOptions.DEFAULT
                .withContextTokens(tokens)
                .withSessions(sessions)
                .withCacheFormat(cache);
    }

    /** Returns the options of a reranker, which may have a shorter context than the language model of the option. */
    private SessionOptions rankingOptions(LanguageModel reranker) {
        SessionOptions options = sessionOptions(reranker);
        return options.withContextTokens(Math.min(options.contextTokens(), reranker.contextTokens()));
    }

    private @Nullable TextApi texts(HttpApi http, Loaded loaded, Metrics metrics) throws IOException {
        if (model == null || loaded.model == null || loaded.sessions == null) {
            return null;
        }
        TextApi texts = new TextApi(
                name(model), loaded.model, loaded.sessions, loaded.room, metrics, Duration.ofSeconds(timeout));
        http.model(name(model));
        http.post("/v1/chat/completions", texts::chat);
        http.post("/v1/completions", texts::completion);
        AttentionApi attention = new AttentionApi(name(model), loaded.model, loaded.sessions, loaded.room);
        http.get("/attention", attention::layers);
        http.post("/attention", (fields, exchange) -> attention.weights(fields));
        http.page("/", Resources.text("/page.html"));
        http.post("/tokenize", (fields, exchange) -> texts.tokenize(fields));
        return texts;
    }

    private void vectors(HttpApi http, Loaded loaded) {
        VectorModels.Embedding embedding = loaded.embedding;
        if (embed != null && embedding != null) {
            String name = name(embed);
            http.model(name);
            http.post("/v1/embeddings", (fields, exchange) -> VectorApi.embeddings(name, embedding, fields));
        }
        VectorModels.Ranking ranking = loaded.ranking;
        if (rerank != null && ranking != null) {
            String name = name(rerank);
            http.model(name);
            http.post("/v1/rerank", (fields, exchange) -> VectorApi.rerank(name, ranking, fields));
        }
    }

    private static String name(Path path) {
        return String.valueOf(path.getFileName()).replaceFirst("\\.gguf$", "");
    }
}
