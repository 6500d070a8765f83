package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.demo.train.PairModel;
import io.multihead.demo.train.RerankModel;
import io.multihead.demo.train.Trainable;
import io.multihead.demo.train.Trainer;
import io.multihead.train.AdamW;
import io.multihead.train.BertCrossEncoder;
import io.multihead.train.BertLayers;
import io.multihead.train.Schedule;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Fine-tunes an embedding model on pairs of texts, and resumes an interrupted training. */
@Command(
        name = "finetune",
        sortOptions = false,
        description =
                "Fine-tunes a BERT sentence encoder on pairs of texts, and prints how many held-out texts find their pair "
                        + "before and after. Ctrl-C ends training after the current step and saves. With --checkpoint, the "
                        + "same command resumes training, with the same bits as without an interruption.")
public final class Finetune implements Callable<Integer> {
    /** The number of texts that a reranker orders. */
    private static final int CANDIDATES = 5;

    @Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--model",
            description = "folder of a BERT encoder with mean pooling (default: all-MiniLM-L6-v2, from the jar)")
    private Path model;

    @Option(
            names = "--pairs",
            description =
                    "file of lines with an anchor, a tab, its positive, and optionally more tabs and hard negatives "
                            + "(default: sentences of Aesop's fables, each with the rest of its fable)")
    private Path pairs;

    @Option(
            names = "--out",
            description = "folder to write the model to (default: ${DEFAULT-VALUE})",
            defaultValue = "target/finetuned")
    private Path out;

    @Option(
            names = "--kind",
            description = "kind of model: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}). A reranker is a BERT "
                    + "cross-encoder, and orders the five texts that the model finds for an anchor",
            defaultValue = "EMBEDDING")
    private Kind kind;

    @Option(names = "--steps", description = "total number of steps (default: ${DEFAULT-VALUE})", defaultValue = "40")
    private int steps;

    @Option(names = "--batch", description = "pairs per step (default: ${DEFAULT-VALUE})", defaultValue = "24")
    private int batch;

    @Option(
            names = "--layers",
            description =
                    "number of last layers to train; others are frozen (default: ${DEFAULT-VALUE}). A reranker trains all",
            defaultValue = "6")
    private int layers;

    @Option(names = "--rate", description = "highest learning rate (default: ${DEFAULT-VALUE})", defaultValue = "1e-4")
    private double rate;

    @Option(names = "--dropout", description = "0 to 1 (default: ${DEFAULT-VALUE})", defaultValue = "0")
    private double dropout;

    @Option(
            names = "--seed",
            description = "seed of pairs and dropout (default: ${DEFAULT-VALUE})",
            defaultValue = "42")
    private long seed;

    @Option(
            names = "--checkpoint",
            description =
                    "safetensors file that is saved every 20 steps, and from which training resumes (default: none)")
    private Path checkpoint;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this help and exit")
    private boolean help;

    /** Only the command line creates an instance. */
    private Finetune() {}

    /**
     * Trains and exits with 0, with 1 after a failure, or with 2 for wrong options.
     *
     * @param arguments see {@code --help}
     */
    public static void main(String[] arguments) {
        System.exit(run(arguments));
    }

    /** Trains, and returns the exit code. */
    static int run(String... arguments) {
        return command().execute(arguments);
    }

    static CommandLine command() {
        return Commands.of(new Finetune());
    }

    @Override
    public Integer call() throws IOException {
        require(steps >= 1, "--steps", steps, "at least 1");
        require(batch >= 2, "--batch", batch, "at least 2, since the other pairs of a step are the negatives");
        require(layers >= 1, "--layers", layers, "at least 1");
        require(rate > 0 && rate < 1, "--rate", rate, "above 0 and below 1");
        require(dropout >= 0 && dropout < 1, "--dropout", dropout, "0 to below 1");
        PairData data = pairs == null ? PairData.fables(kind == Kind.EMBEDDING) : PairData.read(pairs);
        requirePaths();
        Path from = model == null ? MiniLmFolder.write(Files.createDirectories(out.resolve("base"))) : model;
        PrintWriter to = spec.commandLine().getOut();
        try (TrainingRun run = new TrainingRun();
                Arena arena = Arena.ofShared();
                Compute cpu = Compute.threads(Runtime.getRuntime().availableProcessors())) {
            BertLayers encoder = BertLayers.load(arena, from).withDropout(dropout);
            to.printf(
                    "%d training pairs, %d held-out pairs; recall at 1 of held-out pairs: %s before%n",
                    data.trained().size(), data.heldOut().size(), percent(data.recall(cpu, encoder)));
            to.flush();
            if (kind == Kind.RERANKER) {
                rerank(new Setting(cpu, data, run), encoder, BertCrossEncoder.load(arena, from, seed));
            } else {
                String done = train(new PairModel(encoder, cpu, data.trained(), batch, layers), run);
                encoder.save(out.resolve("model"));
                to.printf("recall at 1: %s after %s%n", percent(data.recall(cpu, encoder)), done);
            }
            to.printf("%s%n", out.resolve("model"));
            to.flush();
        }
        return 0;
    }

    /** Checks, before minutes of training, that the result can be written. */
    private void requirePaths() throws IOException {
        Path folder = out.resolve("model");
        boolean same = model != null && Files.exists(model) && Files.exists(folder) && Files.isSameFile(model, folder);
        require(!same, "--out", out, "a folder whose subfolder model is not --model");
        OutputPath.requireFolder(spec.commandLine(), "--out", out);
        if (Files.exists(folder)) {
            OutputPath.requireFolder(spec.commandLine(), "--out", folder);
        }
        if (checkpoint != null) {
            OutputPath.requireFile(spec.commandLine(), "--checkpoint", checkpoint);
        }
    }

    /** The kind of the trained model. */
    enum Kind {
        EMBEDDING,
        RERANKER
    }

    private record Setting(Compute cpu, PairData data, TrainingRun run) {}

    private void rerank(Setting setting, BertLayers encoder, BertCrossEncoder fresh) throws IOException {
        BertCrossEncoder reranker = fresh.withDropout(dropout);
        PairData data = setting.data;
        List<List<String>> candidates = data.candidates(setting.cpu, encoder, CANDIDATES);
        PrintWriter to = spec.commandLine().getOut();
        to.printf("reranked: %s before%n", percent(data.recall(setting.cpu, candidates, reranker)));
        to.flush();
        String done = train(new RerankModel(reranker, setting.cpu, data.trained(), batch), setting.run);
        reranker.save(out.resolve("model"));
        to.printf("reranked: %s after %s%n", percent(data.recall(setting.cpu, candidates, reranker)), done);
    }

    private static String percent(double part) {
        return HeadExhibits.format("%.1f %%", 100 * part);
    }

    /**
     * Trains, and returns the number of completed steps, which is smaller than requested if training was interrupted.
     */
    private String train(Trainable learner, TrainingRun run) throws IOException {
        AdamW.Options options =
                AdamW.Options.DEFAULT.withDecay(0.01, name -> !name.endsWith("bias") && !name.contains("norm"));
        Trainer trainer = new Trainer(
                learner,
                AdamW.of(learner.parameters(), options),
                Schedule.linear(rate, Math.min(steps, steps / 10), steps),
                seed);
        if (checkpoint != null) {
            trainer.savingTo(checkpoint, 20);
        }
        run.train("finetune", trainer, steps, spec.commandLine().getErr());
        return trainer.done() + " of " + steps + " steps";
    }

    private void require(boolean holds, String option, Object value, String wanted) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), option + ": " + value + "; expected " + wanted);
        }
    }
}
