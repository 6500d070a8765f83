package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.demo.train.Task;
import io.multihead.demo.train.TokenModel;
import io.multihead.demo.train.Trainer;
import io.multihead.train.Schedule;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Trains one model, and resumes an interrupted training. */
@Command(
        name = "train",
        sortOptions = false,
        description =
                "Trains a small transformer on a synthetic task. Ctrl-C ends training after the current step. With --checkpoint, "
                        + "it saves, and the same command resumes training, with the same bits as without an interruption.")
public final class Train implements Callable<Integer> {
    @Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--task",
            description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE})",
            defaultValue = "COPY")
    private Task task;

    @Option(names = "--heads", description = "heads of every layer (default: ${DEFAULT-VALUE})", defaultValue = "8")
    private int heads;

    @Option(names = "--layers", description = "blocks (default: ${DEFAULT-VALUE})", defaultValue = "2")
    private int layers;

    @Option(names = "--embed-dim", description = "d_model (default: ${DEFAULT-VALUE})", defaultValue = "128")
    private int embedDim;

    @Option(names = "--steps", description = "total number of steps (default: ${DEFAULT-VALUE})", defaultValue = "500")
    private int steps;

    @Option(
            names = "--seed",
            description = "seed of parameters and data (default: ${DEFAULT-VALUE})",
            defaultValue = "42")
    private long seed;

    @Option(
            names = "--checkpoint",
            description =
                    "safetensors file that is saved every 100 steps, and from which training resumes (default: none)")
    private Path checkpoint;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this help and exit")
    private boolean help;

    /** Only the command line creates an instance. */
    private Train() {}

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
        return Commands.of(new Train()).execute(arguments);
    }

    @Override
    public Integer call() throws IOException {
        require(steps >= 1, "--steps", steps, "at least 1");
        require(layers >= 1, "--layers", layers, "at least 1");
        require(heads >= 1 && embedDim >= 1 && embedDim % heads == 0, "--heads", heads, "a divisor of " + embedDim);
        if (checkpoint != null) {
            OutputPath.requireFile(spec.commandLine(), "--checkpoint", checkpoint);
        }
        try (TrainingRun run = new TrainingRun();
                Compute cpu = Compute.threads(Runtime.getRuntime().availableProcessors())) {
            TokenModel.Config config = new TokenModel.Config(task, Trainings.sizes(task), embedDim, heads, layers);
            TokenModel model = new TokenModel(config, cpu, seed);
            Trainer trainer = new Trainer(
                    model, Trainer.adamW(model), Schedule.cosine(1e-3, 0.1, Math.min(20, steps), steps), seed);
            if (checkpoint != null) {
                trainer.savingTo(checkpoint, 100);
            }
            List<Double> losses =
                    run.train("train", trainer, steps, spec.commandLine().getErr());
            spec.commandLine()
                    .getOut()
                    .printf(
                            "%d steps done, last loss %s, accuracy %.1f %%%n",
                            trainer.done(),
                            losses.isEmpty() ? "none" : HeadExhibits.format("%.4f", losses.get(losses.size() - 1)),
                            100 * model.accuracy(seed, 16));
        }
        return 0;
    }

    private void require(boolean holds, String option, long value, String wanted) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), option + ": " + value + "; expected " + wanted);
        }
    }
}
