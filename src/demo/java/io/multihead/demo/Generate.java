package io.multihead.demo;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.LoadListener;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Penalties;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Continues a text or chats with a trained language model. */
@Command(
        name = "generate",
        sortOptions = false,
        description =
                "Loads a language model, and continues a text or answers in a chat. The text is streamed to the standard"
                        + " output, and messages are written to the standard error. Ctrl-C ends the text.")
public final class Generate implements Callable<Integer> {
    private static final long STOP_SECONDS = 30;
    private static final double MEBIBYTE = 1 << 20;

    @Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--model",
            required = true,
            description = "GGUF file, or folder with config.json and safetensors files")
    private Path model;

    @Option(names = "--prompt", description = "text to continue, or the first question of a chat")
    private String prompt;

    @Option(
            names = "--chat",
            description = "chat with the model's template; each line of the standard input is a question")
    private boolean chat;

    @Option(
            names = "--chat-template",
            description = "template of a chat instead of the file's: ${COMPLETION-CANDIDATES}",
            completionCandidates = TemplateNames.class,
            converter = TemplateNames.class)
    private ChatTemplate template;

    /** Families of templates, with names that ignore case. */
    private static final class TemplateNames implements Iterable<String>, ITypeConverter<ChatTemplate> {
        @Override
        public Iterator<String> iterator() {
            return ChatTemplate.families().keySet().iterator();
        }

        @Override
        public ChatTemplate convert(String name) {
            ChatTemplate family = ChatTemplate.families().get(name.toLowerCase(Locale.ROOT));
            if (family == null) {
                throw new TypeConversionException(
                        "expected one of " + ChatTemplate.families().keySet() + " but was '" + name + "'");
            }
            return family;
        }
    }

    @Option(names = "--system", description = "system prompt of a chat")
    private String system;

    @Option(names = "--threads", description = "default: processors of this machine")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(
            names = "--max-tokens",
            description = "maximum of one text (default: ${DEFAULT-VALUE})",
            defaultValue = "256")
    private int maxTokens;

    @Option(
            names = "--context",
            description = "maximum tokens of prompts and texts together (default: the model's, at most 4096)")
    private Integer context;

    @Option(
            names = "--cache",
            description = "format of keys and values: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE})",
            defaultValue = "F16")
    private CacheFormat cache;

    @Option(
            names = "--8-bit-inputs",
            description =
                    "round inputs of weights in Q4_0, Q4_1 and Q4_K to 8 bits, like llama.cpp: faster, less exact")
    private boolean eightBitInputs;

    @Mixin
    private final SamplingArguments sampling = new SamplingArguments();

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this help and exit")
    private boolean help;

    private final InputStream in;
    private volatile boolean stopped;

    /** Only the command line creates an instance. */
    private Generate() {
        this(System.in);
    }

    private Generate(InputStream in) {
        this.in = in;
    }

    /** The options for the choice of tokens. */
    static final class SamplingArguments {
        @Option(names = "--temperature", description = "0 is greedy (default: ${DEFAULT-VALUE})", defaultValue = "0")
        private double temperature;

        @Option(names = "--top-k", description = "0 keeps all tokens (default: ${DEFAULT-VALUE})", defaultValue = "0")
        private int topK;

        @Option(names = "--top-p", description = "1 keeps all tokens (default: ${DEFAULT-VALUE})", defaultValue = "1")
        private double topP;

        @Option(names = "--min-p", description = "0 keeps all tokens (default: ${DEFAULT-VALUE})", defaultValue = "0")
        private double minP;

        @Option(
                names = "--repetition-penalty",
                description = "1 is none (default: ${DEFAULT-VALUE})",
                defaultValue = "1")
        private double repetition;

        @Option(names = "--presence-penalty", description = "0 is none (default: ${DEFAULT-VALUE})", defaultValue = "0")
        private double presence;

        @Option(
                names = "--seed",
                description = "seed of the random choice of tokens (default: ${DEFAULT-VALUE})",
                defaultValue = "0")
        private long seed;

        @Option(names = "--stop", description = "stop sequence; may be given several times")
        private List<String> stops = List.of();

        @Option(
                names = "--draft-tokens",
                description =
                        "draft tokens from earlier text, which do not change the text (default: ${DEFAULT-VALUE})",
                defaultValue = "0")
        private int draftTokens;

        GenerationOptions options(int maxTokens) {
            Sampling chosen = new Sampling(temperature, topK, topP, minP, new Penalties(repetition, presence), seed);
            return GenerationOptions.DEFAULT
                    .withSampling(chosen)
                    .withMaxTokens(maxTokens)
                    .withStopSequences(stops.toArray(String[]::new))
                    .withDraftTokens(draftTokens);
        }
    }

    /**
     * Generates and exits with 0, with 1 after a failure, or with 2 for wrong options.
     *
     * @param arguments see {@code --help}
     */
    public static void main(String[] arguments) {
        PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        PrintWriter out = new PrintWriter(System.out, false, StandardCharsets.UTF_8);
        System.exit(run(System.in, out, err, Arguments.asGiven(arguments, err)));
    }

    /** Generates, and returns the exit code. */
    static int run(InputStream in, PrintWriter out, PrintWriter err, String... arguments) {
        return Commands.of(new Generate(in))
                .setOut(out)
                .setErr(err)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(arguments);
    }

    @Override
    public Integer call() throws IOException {
        if (prompt == null && !chat) {
            throw new ParameterException(spec.commandLine(), "--prompt or --chat: absent; expected one of them");
        }
        if (template != null && !chat) {
            throw new ParameterException(spec.commandLine(), "--chat-template: given without --chat; expected a chat");
        }
        if (system != null && !chat) {
            throw new ParameterException(spec.commandLine(), "--system: given without --chat; expected a chat");
        }
        GenerationOptions options = option(() -> sampling.options(maxTokens));
        option(() -> sessionOptions(1)); // wrong options fail before a file is read
        CountDownLatch ended = new CountDownLatch(1);
        Thread hook = new Thread(() -> stop(ended), "generate-stop");
        Runtime.getRuntime().addShutdownHook(hook);
        boolean done = true;
        try (Compute cpu = option(() -> Compute.threads(threads));
                LanguageModel loaded = load(cpu);
                Sessions sessions = option(() -> loaded.sessions(sessionOptions(loaded.contextTokens())))) {
            if (chat) {
                requireTemplate(loaded);
                done = converse(sessions, options);
            } else {
                try (Session session = sessions.open()) {
                    if (session.append(prompt).length() == 0) {
                        throw new ParameterException(
                                spec.commandLine(),
                                "--prompt: \"" + prompt + "\" has no tokens; expected at least one");
                    }
                    answer(session, options);
                }
            }
        } finally {
            ended.countDown();
        }
        return done ? 0 : 1;
    }

    /** Fails before the first question if the model has no chat template. */
    private static void requireTemplate(LanguageModel loaded) {
        try {
            loaded.chatTemplate();
        } catch (IllegalArgumentException absent) {
            String message = absent.getMessage().replace("LanguageModel.withChatTemplate", "--chat-template");
            throw new IllegalArgumentException(message, absent);
        }
    }

    private <T> T option(Supplier<T> value) {
        return Commands.option(spec.commandLine(), value);
    }

    private LanguageModel load(Compute cpu) throws IOException {
        long start = System.nanoTime();
        try (Progress progress = new Progress(
                "load", 100, Progress.isTerminal(), spec.commandLine().getErr())) {
            int[] shown = new int[1];
            LoadListener listener = (done, all) -> {
                for (int percent = 100 * done / all; shown[0] < percent; shown[0]++) {
                    progress.step("");
                }
            };
            LoadOptions options = LoadOptions.DEFAULT.withListener(listener).withEightBitInputs(eightBitInputs);
            LanguageModel loaded = LanguageModel.load(cpu, model, options);
            progress.finish(String.format(
                    "%s in %.1f s: %.0f MiB packed, %.0f MiB mapped",
                    loaded,
                    (System.nanoTime() - start) / 1e9,
                    loaded.ownBytes() / MEBIBYTE,
                    loaded.mappedBytes() / MEBIBYTE));
            return template == null ? loaded : loaded.withChatTemplate(template);
        }
    }

    private SessionOptions sessionOptions(int most) {
        int tokens = context == null ? Math.min(most, 4096) : context;
        return SessionOptions.DEFAULT.withContextTokens(tokens).withCacheFormat(cache);
    }

    /** Answers the prompt and then the lines of the input until its end. Returns whether all of them were answered. */
    private boolean converse(Sessions sessions, GenerationOptions options) throws IOException {
        PrintWriter err = spec.commandLine().getErr();
        Conversation conversation = new Conversation(sessions, system, options.maxTokens(), err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        boolean allAnswered = true;
        String question = prompt;
        while (!stopped) {
            if (question == null) {
                err.print("> ");
                err.flush();
                question = lines.readLine();
            }
            if (question == null) {
                break;
            }
            if (!question.isBlank()) {
                try {
                    conversation.ask(question, session -> answer(session, options));
                } catch (IllegalArgumentException refused) {
                    err.println(Commands.message(spec.commandLine(), refused));
                    allAnswered = false;
                }
            }
            question = null;
        }
        return allAnswered;
    }

    private String answer(Session session, GenerationOptions options) {
        PrintWriter out = spec.commandLine().getOut();
        long start = System.nanoTime();
        long[] first = {0};
        GeneratedText text = session.generate(options, token -> {
            if (first[0] == 0) {
                first[0] = System.nanoTime();
            }
            out.print(token.text());
            out.flush();
            return !stopped;
        });
        out.println();
        out.flush();
        report(text, first[0] - start, System.nanoTime() - first[0], session);
        return text.text();
    }

    private void report(GeneratedText text, long prefill, long decode, Session session) {
        int steps = text.tokens().size() - 1;
        spec.commandLine()
                .getErr()
                .printf(
                        "[%s; prompt %d tokens, %.1f/s; text %d tokens, %.1f/s; cache %.1f MiB]%n",
                        text.finish(),
                        text.promptTokens(),
                        text.promptTokens() * 1e9 / Math.max(1, prefill),
                        text.tokens().size(),
                        steps * 1e9 / Math.max(1, decode),
                        session.cacheBytes() / MEBIBYTE);
    }

    /** Runs at the shutdown of the JVM, and stops generation after the current token. */
    private void stop(CountDownLatch ended) {
        stopped = true;
        try {
            if (!ended.await(STOP_SECONDS, TimeUnit.SECONDS)) {
                System.err.println("generate: not ended within " + STOP_SECONDS + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
