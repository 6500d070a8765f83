package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.demo.train.Task;
import io.multihead.demo.train.TokenModel;
import io.multihead.demo.train.Trainer;
import io.multihead.train.Schedule;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** The models that the study trains. Each is trained once and on one thread. */
final class Trainings {
    static final int EMBED_DIM = 256;
    private static final long WARM_UP = 20;

    private final Parallel parallel;
    private final long seed;
    private final int steps;
    private final Consumer<String> step;
    private final Map<TokenModel.Config, CompletableFuture<Trained>> started = new ConcurrentHashMap<>();

    /** A trained model, and the loss of each step. */
    record Trained(TokenModel model, List<Double> losses) {}

    /**
     * Creates the trainings without starting them.
     *
     * @param parallel threads, each of which trains one model at a time
     * @param seed of weights and data
     * @param steps of each model
     * @param step called after each step, from several threads
     */
    Trainings(Parallel parallel, long seed, int steps, Consumer<String> step) {
        this.parallel = parallel;
        this.seed = seed;
        this.steps = steps;
        this.step = step;
    }

    Parallel parallel() {
        return parallel;
    }

    long seed() {
        return seed;
    }

    int steps() {
        return steps;
    }

    /**
     * Returns the number of batches to measure: all batches of a whole study, or fewer if models are trained with fewer
     * steps.
     */
    int batches(int all) {
        return Math.clamp((long) all * steps / Study.STEPS, 1, all);
    }

    /** Returns the sizes with which a task is learned in some hundred steps. */
    static Task.Sizes sizes(Task task) {
        return task == Task.COPY ? new Task.Sizes(16, 16, 16) : new Task.Sizes(12, 12, 64);
    }

    /** Starts the training of a model, unless it has been started before. */
    CompletableFuture<Trained> start(Task task, int heads, int layers) {
        return started.computeIfAbsent(
                new TokenModel.Config(task, sizes(task), EMBED_DIM, heads, layers),
                config -> parallel.start(() -> train(config)));
    }

    private Trained train(TokenModel.Config config) {
        TokenModel model = new TokenModel(config, parallel.serial(), seed);
        double rate = config.task() == Task.COPY ? 1e-3 : 5e-4;
        Trainer trainer = new Trainer(
                        model, Trainer.adamW(model), Schedule.cosine(rate, 0.1, Math.min(WARM_UP, steps), steps), seed)
                .reporting((done, loss) ->
                        step.accept(format("%s, h = %d, loss %.2f", config.task(), config.heads(), loss)));
        try {
            return new Trained(model, trainer.train(steps));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
