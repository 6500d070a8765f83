package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.demo.train.Task;
import io.multihead.encoder.SentenceEncoder;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs the study and writes its page. */
@Command(
        name = "study",
        sortOptions = false,
        description =
                "Studies the attention of a trained model and of an untrained layer on a paragraph, which an option can set, trains "
                        + "small models on two tasks and a small Llama on fables, and writes a page with eighteen exhibits.")
public final class Study implements Callable<Integer> {
    private static final int EXHIBITS = 18;
    /** The default number of training steps of each model. */
    static final int STEPS = 200;

    private static final int FULL_STEPS = 1500;
    /** The progress steps of the efficiency exhibit, which has three numbers of heads. */
    private static final int HEAD_COUNTS = 3;
    /** The maximum of {@link Compute#threads}. */
    private static final int MOST_THREADS = 1024;

    @Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--out",
            description = "folder to write to (default: ${DEFAULT-VALUE})",
            defaultValue = "target/study")
    private Path out;

    @Option(
            names = "--seed",
            description = "seed of weights and embeddings (default: ${DEFAULT-VALUE})",
            defaultValue = "42")
    private long seed;

    @Option(
            names = "--threads",
            description = "threads of one call, at most " + MOST_THREADS + "; 0: all processors (default: 0)",
            defaultValue = "0",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private int threads;

    @Option(
            names = "--max-length",
            description =
                    "longest sequence of the memory exhibit (default: ${DEFAULT-VALUE}; takes 4 bytes times its square)",
            defaultValue = "16384")
    private long maxLength;

    @Option(
            names = "--steps",
            description = "training steps of each of the twelve models; 0: " + STEPS + ", with --full " + FULL_STEPS
                    + " (default: 0)",
            defaultValue = "0",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private int steps;

    @Option(
            names = "--sentences",
            description =
                    "number of sentences of the corpus for pruning the trained model and for search, at least 4; 0: all (default: 0)",
            defaultValue = "0",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private int sentences;

    @Option(
            names = "--text",
            description = "text to study, in any language (default: an English paragraph); the exhibits use its first "
                    + StudyText.MOST_TOKENS + " words and punctuation marks, and the first "
                    + StudyText.MOST_IN_SENTENCE
                    + " of its first sentence")
    private @Nullable String text;

    @Option(names = "--file", description = "UTF-8 file with the text to study; its first million characters are read")
    private @Nullable Path file;

    @Option(
            names = "--full",
            description = "train longer, and measure longer contexts; takes about a quarter of an hour")
    private boolean full;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this help and exit")
    private boolean help;

    /** Only the command line creates an instance. */
    private Study() {}

    /**
     * Runs the study and exits with 0, with 1 after a failure, or with 2 for wrong options.
     *
     * @param arguments see {@code --help}
     */
    public static void main(String[] arguments) {
        System.exit(run(arguments));
    }

    /** Runs the study, and returns the exit code. */
    static int run(String... arguments) {
        return run(new PrintWriter(System.err, true), arguments);
    }

    static int run(PrintWriter errors, String... arguments) {
        return Commands.of(new Study()).setErr(errors).execute(arguments);
    }

    @Override
    public Integer call() throws IOException {
        require(threads >= 0 && threads <= MOST_THREADS, "--threads", threads, "0 to " + MOST_THREADS);
        require(maxLength >= 256 && maxLength <= 32_768, "--max-length", maxLength, "256 to 32768");
        require(steps >= 0, "--steps", steps, "at least 0");
        require(sentences == 0 || sentences >= 4, "--sentences", sentences, "0 or at least 4");
        int width = threads == 0 ? Runtime.getRuntime().availableProcessors() : threads;
        StudyText chosen = chosenText();
        long start = System.nanoTime();
        OutputPath.requireFolder(spec.commandLine(), "--out", out);
        try (Compute cpu = Compute.threads(width);
                Parallel parallel = new Parallel(width)) {
            Subject paragraph = Subject.of(chosen, seed, cpu);
            List<Exhibit> exhibits = exhibits(chosen, paragraph, parallel);
            double seconds = (System.nanoTime() - start) * 1e-9;
            new Page(facts(paragraph, width, seconds), exhibits).write(out);
            spec.commandLine()
                    .getOut()
                    .printf("%d exhibits in %.1f s: %s%n", exhibits.size(), seconds, out.resolve("index.html"));
        }
        return 0;
    }

    private List<Exhibit> exhibits(StudyText chosen, Subject paragraph, Parallel parallel) throws IOException {
        int lengths = CostExhibits.lengths(256, maxLength).length;
        int training = steps > 0 ? steps : full ? FULL_STEPS : STEPS;
        long longest = Math.min(maxLength, full ? 16_384 : 4096);
        int longer = CostExhibits.lengths(Math.min(512, longest), longest).length;
        long all = EXHIBITS
                + TrainedPruning.STEPS
                + lengths
                + longer
                + HEAD_COUNTS
                + (2L * TrainingExhibits.HEADS.length + 2) * training;
        List<Exhibit> exhibits = new ArrayList<>();
        try (Progress progress = new Progress(
                "study", all, Progress.isTerminal(), spec.commandLine().getErr())) {
            trained(chosen, paragraph.cpu(), parallel, exhibits, progress);
            HeadExhibits heads = new HeadExhibits(paragraph);
            show(exhibits, heads.heatMaps(), progress);
            show(exhibits, heads.againstSingleHead(), progress);
            show(exhibits, heads.diversity(), progress);
            show(exhibits, heads.causal(), progress);
            show(exhibits, CostExhibits.memory(maxLength, parallel, progress::step), progress);
            show(exhibits, CostExhibits.operations(), progress);
            show(exhibits, EqualityExhibit.draw(paragraph), progress);
            show(exhibits, LayerExhibits.parameters(), progress);
            show(exhibits, LayerExhibits.efficiency(paragraph.cpu(), longest, progress::step), progress);
            training(paragraph.cpu(), new Trainings(parallel, seed, training, progress::step), exhibits, progress);
        }
        return exhibits;
    }

    /**
     * Adds the exhibits of the trained models. All models are trained in parallel. The largest one is first, so that no
     * thread waits long at the end.
     */
    private void training(Compute cpu, Trainings trainings, List<Exhibit> exhibits, Progress progress)
            throws IOException {
        CompletableFuture<FableModel> llama =
                FableModel.start(trainings.parallel(), Fables.read(), seed, trainings.steps(), progress::step);
        PruningExhibits.start(trainings);
        TrainingExhibits.start(trainings, Task.RECALL);
        TrainingExhibits.start(trainings, Task.COPY);
        TrainingExhibits trained = new TrainingExhibits(trainings);
        show(exhibits, trained.exhibit(Task.COPY), progress);
        show(exhibits, trained.exhibit(Task.RECALL), progress);
        PruningExhibits pruning = new PruningExhibits(cpu, trainings);
        show(exhibits, pruning.importanceExhibit(), progress);
        show(exhibits, pruning.pruningExhibit(), progress);
        show(exhibits, FableExhibit.draw(llama.join(), out), progress);
    }

    private void trained(StudyText chosen, Compute cpu, Parallel parallel, List<Exhibit> exhibits, Progress progress)
            throws IOException {
        try (SentenceEncoder encoder = TrainedModel.encoder(cpu)) {
            TrainedHeadExhibits heads = new TrainedHeadExhibits(encoder, chosen);
            show(exhibits, heads.heatMaps(), progress);
            show(exhibits, heads.byLayer(), progress);
            Fables corpus = sentences == 0 ? Fables.read() : Fables.read().first(sentences);
            TrainedPruning pruning = new TrainedPruning(cpu, encoder, corpus.sentences(), parallel, progress::step);
            show(exhibits, new TrainedPruningExhibit(pruning, seed).draw(), progress);
            show(exhibits, SearchExhibit.draw(cpu, encoder, corpus), progress);
        }
    }

    private static void show(List<Exhibit> exhibits, Exhibit exhibit, Progress progress) {
        exhibits.add(exhibit);
        progress.finish("exhibit " + exhibits.size() + " of " + EXHIBITS + ": " + exhibit.title());
    }

    private List<String[]> facts(Subject paragraph, int width, double seconds) {
        return List.of(
                new String[] {"input", String.join(" ", paragraph.tokens())},
                new String[] {"tokens", String.valueOf(paragraph.tokens().size())},
                new String[] {"trained model", TrainedModel.NAME + ", 6 layers of 12 heads"},
                new String[] {
                    "untrained layer", "d_model " + Subject.EMBED_DIM + ", " + Subject.HEADS + " heads, seed " + seed
                },
                new String[] {
                    "Java", Runtime.version() + " on " + System.getProperty("os.arch") + ", " + width + " threads"
                },
                new String[] {"processor", Processor.name()},
                new String[] {"took", HeadExhibits.format("%.1f s", seconds)});
    }

    private StudyText chosenText() throws IOException {
        if (text != null && file != null) {
            throw new ParameterException(spec.commandLine(), "--text and --file: both; expected one of them");
        }
        if (text == null && file == null) {
            return StudyText.builtIn();
        }
        String option = file == null ? "--text" : "--file";
        try {
            return StudyText.of(file == null ? Objects.requireNonNull(text) : StudyText.read(file));
        } catch (IllegalArgumentException | IOException unfit) {
            throw new ParameterException(spec.commandLine(), option + ": " + unfit.getMessage(), unfit);
        }
    }

    private void require(boolean holds, String option, long value, String wanted) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), option + ": " + value + "; expected " + wanted);
        }
    }
}
