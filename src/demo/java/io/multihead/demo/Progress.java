package io.multihead.demo;

import java.io.PrintWriter;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import me.tongfei.progressbar.DefaultProgressBarRenderer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarRenderer;
import me.tongfei.progressbar.ProgressBarStyle;
import me.tongfei.progressbar.ProgressState;

/** Progress of a long run: a bar on a terminal, and elsewhere one line per finished part. */
final class Progress implements AutoCloseable {
    /** An estimate needs 1/20 of all steps, since the first steps include class loading and compilation. */
    private static final int STEPS_PER_ESTIMATE = 20;

    private final Optional<ProgressBar> bar;
    private final PrintWriter lines;
    private final long start = System.nanoTime();

    /**
     * Starts to show progress.
     *
     * @param task name of the run
     * @param steps number of calls of {@link #step} and {@link #finish} together
     * @param terminal whether to draw a bar
     * @param lines takes the lines if there is no bar
     */
    Progress(String task, long steps, boolean terminal, PrintWriter lines) {
        this.lines = lines;
        bar = terminal
                ? Optional.of(new ProgressBarBuilder()
                        .setTaskName(task)
                        .setInitialMax(steps)
                        .setUpdateIntervalMillis(200)
                        .setRenderer(renderer())
                        .build())
                : Optional.empty();
    }

    /** Returns whether this process reads from and writes to a terminal. */
    static boolean isTerminal() {
        return System.console() != null && System.console().isTerminal();
    }

    /** Counts one step. Only a bar shows its message. */
    void step(String message) {
        bar.ifPresent(drawn -> drawn.setExtraMessage(message).step());
    }

    /** Counts one step that ends a part of the run. */
    void finish(String part) {
        step(part);
        if (bar.isEmpty()) {
            lines.printf("%6.1f s  %s%n", (System.nanoTime() - start) * 1e-9, part);
            lines.flush();
        }
    }

    /** Returns the time that the remaining steps will take, after enough of them are done for an estimate. */
    static Optional<Duration> estimate(long done, long all, Duration elapsed) {
        return done == 0 || done < all / STEPS_PER_ESTIMATE
                ? Optional.empty()
                : Optional.of(elapsed.dividedBy(done).multipliedBy(all - done));
    }

    private static ProgressBarRenderer renderer() {
        ProgressBarRenderer plain = new Renderer(false);
        ProgressBarRenderer estimating = new Renderer(true);
        return (state, width) -> (Renderer.estimate(state).isPresent() ? estimating : plain).render(state, width);
    }

    @Override
    public void close() {
        bar.ifPresent(ProgressBar::close);
    }

    /** The renderer of the progress bar library, which has a protected constructor. */
    private static final class Renderer extends DefaultProgressBarRenderer {
        Renderer(boolean withEstimate) {
            super(ProgressBarStyle.ASCII, "", 1, false, null, ChronoUnit.SECONDS, withEstimate, Renderer::estimate);
        }

        static Optional<Duration> estimate(ProgressState state) {
            return Progress.estimate(state.getCurrent(), state.getMax(), state.getElapsedAfterStart());
        }
    }
}
