package io.multihead.demo;

import io.multihead.demo.train.Trainer;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Training from the command line with progress. Ctrl-C ends training after the current step and saves it. Close this
 * object after all results are written.
 */
final class TrainingRun implements AutoCloseable {
    /** The number of progress lines if the output is not a terminal. */
    private static final int LINES = 10;

    private final CountDownLatch ended = new CountDownLatch(1);

    /** Trains until a total number of steps are done. Returns the losses of the steps of this call. */
    List<Double> train(String task, Trainer trainer, long steps, PrintWriter lines) throws IOException {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(trainer), task + "-stop"));
        long part = Math.max(1, steps / LINES);
        long remaining = Math.max(1, steps - trainer.resume());
        try (Progress progress = new Progress(task, remaining, Progress.isTerminal(), lines)) {
            trainer.reporting((step, loss) -> {
                String message = HeadExhibits.format("step %d of %d, loss %.4f", step, steps, loss);
                if (step % part == 0 || step == steps) {
                    progress.finish(message);
                } else {
                    progress.step(message);
                }
            });
            return trainer.train(steps);
        }
    }

    /** Runs at the shutdown of the JVM. */
    private void stop(Trainer trainer) {
        trainer.stop();
        try {
            ended.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        ended.countDown();
    }
}
