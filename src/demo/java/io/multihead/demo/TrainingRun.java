package io.multihead.demo;

import io.multihead.demo.train.Trainer;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Training from the command line: progress, and Ctrl-C, which lets the step that is running finish and save. To be closed when all is written. */
final class TrainingRun implements AutoCloseable {
    /** Lines of progress when the output is no terminal. */
    private static final int LINES = 10;

    private final CountDownLatch ended = new CountDownLatch(1);

    /** Trains until a number of steps have been done in total; returns the losses of the steps done now. */
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

    /** Runs when the JVM is told to end. */
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
