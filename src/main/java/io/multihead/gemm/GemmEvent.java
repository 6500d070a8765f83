package io.multihead.gemm;

import io.multihead.internal.gemm.GemmProblem;
import jdk.jfr.Category;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/**
 * One matrix multiplication in a flight recording; disabled unless the recording enables {@code io.multihead.Gemm}. Callers check
 * {@link jdk.jfr.FlightRecorder#isInitialized} first: the event type starts the flight recorder, which took 60 ms of a first call.
 */
@Name("io.multihead.Gemm")
@Label("Matrix product")
@Category("Multihead")
@Enabled(false)
@StackTrace(false)
final class GemmEvent extends Event {
    private static final EventType TYPE = EventType.getEventType(GemmEvent.class);

    @Label("Batches")
    long batches;

    @Label("Rows")
    long rows;

    @Label("Columns")
    long columns;

    @Label("Depth")
    long depth;

    @Label("Right operand packed before")
    boolean packed;

    @Label("Tasks")
    long tasks;

    /** Returns an event that has begun, or null, without an allocation, unless a recording enables it. */
    static @Nullable GemmEvent start() {
        if (!TYPE.isEnabled()) {
            return null;
        }
        GemmEvent event = new GemmEvent();
        event.begin();
        return event;
    }

    /** Records the sizes of the call and its number of tasks. */
    void finish(GemmProblem problem, long newTasks) {
        finish(problem, problem.m(), problem.n(), newTasks);
    }

    /** Records a call of several multiplications; the first multiplication has the sizes that all share. */
    void finish(GemmProblem problem, long allRows, long allColumns, long newTasks) {
        batches = problem.batches();
        rows = allRows;
        columns = allColumns;
        depth = problem.k();
        packed = problem.isPacked();
        tasks = newTasks;
        commit();
    }
}
