package io.multihead.demo.train;

import io.multihead.nn.Gradients;
import io.multihead.tensor.Tensor;
import io.multihead.train.AdamW;
import io.multihead.train.Checkpoint;
import io.multihead.train.Optimizer;
import io.multihead.train.Schedule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The training loop: batch, gradients, clipping, step. */
public final class Trainer {
    private static final double MOST = 1;
    private static final String SEED = "seed";
    private static final String STEP = "step";

    private final Trainable model;
    private final Optimizer optimizer;
    private final Schedule schedule;
    private final long seed;
    private @Nullable Path checkpoint;
    private long every = Long.MAX_VALUE;
    private BiConsumer<Long, Double> progress = (_, _) -> {};
    private volatile boolean stopped;
    private long done;

    /** Creates a trainer of a model. The data of a step depends on the seed and the step. */
    public Trainer(Trainable model, Optimizer optimizer, Schedule schedule, long seed) {
        this.model = model;
        this.optimizer = optimizer;
        this.schedule = schedule;
        this.seed = seed;
    }

    /** Returns this trainer with a listener that receives every step and its loss. */
    public Trainer reporting(BiConsumer<Long, Double> listener) {
        progress = listener;
        return this;
    }

    /**
     * Returns this trainer with a checkpoint, which is saved after every {@code steps} steps and after a stop. Training
     * resumes from an existing file.
     */
    public Trainer savingTo(Path file, long steps) {
        checkpoint = file;
        every = steps;
        return this;
    }

    /** Ends training after the current step. Ctrl-C calls this method. */
    public void stop() {
        stopped = true;
    }

    /** Returns the number of completed steps, including the steps before a checkpoint. */
    public long done() {
        return done;
    }

    /**
     * Loads the checkpoint if the file exists and no step has been done yet. {@link #train} does this automatically.
     *
     * @return the number of completed steps
     * @throws IOException if the checkpoint cannot be read
     * @throws IllegalArgumentException if the checkpoint is from another model, or from a training with another seed
     */
    public long resume() throws IOException {
        if (checkpoint != null && Files.exists(checkpoint) && done == 0) {
            long begun = counter(Checkpoint.counters(checkpoint), SEED);
            if (begun != seed) {
                throw new IllegalArgumentException(checkpoint + ": begun with seed " + begun + "; expected seed " + seed
                        + ", with which it is resumed");
            }
            done = counter(Checkpoint.load(checkpoint, model.architecture(), model.parameters(), optimizer), STEP);
            model.parametersChanged();
        }
        return done;
    }

    /**
     * Trains until a total number of steps are done.
     *
     * @return the loss of every step of this call
     * @throws IOException if the checkpoint cannot be read or written
     */
    public List<Double> train(long steps) throws IOException {
        resume();
        long saved = done;
        List<Double> losses = new ArrayList<>();
        Map<String, Tensor> gradients = model.gradients();
        while (done < steps && !stopped) {
            losses.add(step(gradients));
            progress.accept(done, losses.get(losses.size() - 1));
            if (done % every == 0) {
                save();
                saved = done;
            }
        }
        // saved here and not in the loop, since another thread may stop the training at any time
        if (done != saved) {
            save();
        }
        return Collections.unmodifiableList(losses);
    }

    private long counter(Map<String, Long> counters, String name) {
        Long value = counters.get(name);
        if (value == null || name.equals(STEP) && value < 0) {
            throw new IllegalArgumentException(checkpoint + ": " + name + ": " + value + "; expected "
                    + (value == null ? "a number" : "at least 0"));
        }
        return value;
    }

    private void save() throws IOException {
        if (checkpoint != null) {
            String architecture = model.architecture();
            Checkpoint.save(checkpoint, architecture, Map.of(SEED, seed, STEP, done), model.parameters(), optimizer);
        }
    }

    private double step(Map<String, Tensor> gradients) {
        Gradients.clear(gradients);
        double loss = model.learn(seed, done, gradients);
        Gradients.clip(model.cpu(), gradients, MOST);
        optimizer.step(model.cpu(), gradients, schedule.rate(done));
        model.parametersChanged();
        done++;
        return loss;
    }

    /** Returns the AdamW optimizer of the study. Weights decay. Biases, norms and the embedding do not decay. */
    public static AdamW adamW(TokenModel model) {
        return AdamW.of(
                model.parameters(),
                AdamW.Options.DEFAULT.withDecay(
                        0.01,
                        name -> name.endsWith("weight") && !name.contains("norm") && !name.startsWith("embedding")));
    }
}
