package io.multihead.internal.attention;

import io.multihead.tensor.Tensor;
import jdk.jfr.Category;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/**
 * One call of attention, forward or backward, in a flight recording; disabled unless the recording enables {@code io.multihead.Attention}.
 * Callers check {@link jdk.jfr.FlightRecorder#isInitialized} first: the event type starts the flight recorder.
 */
@Name("io.multihead.Attention")
@Label("Attention")
@Category("Multihead")
@Enabled(false)
@StackTrace(false)
public final class AttentionEvent extends Event {
    private static final EventType TYPE = EventType.getEventType(AttentionEvent.class);

    @Label("Backward")
    boolean backward;

    @Label("Sequences")
    long sequences;

    @Label("Query heads")
    long queryHeads;

    @Label("Key heads")
    long keyValueHeads;

    @Label("Queries of all sequences")
    long queries;

    @Label("Keys of the longest sequence")
    long keys;

    @Label("Head dim")
    int headDim;

    @Label("Tasks")
    long tasks;

    /** Returns an event that has begun, or null without an allocation if no recording enables it. */
    public static @Nullable AttentionEvent start(boolean backward) {
        if (!TYPE.isEnabled()) {
            return null;
        }
        AttentionEvent event = new AttentionEvent();
        event.backward = backward;
        event.begin();
        return event;
    }

    /** Ends the event and records the sizes of the call and the number of its tasks. */
    public void finish(AttentionProblem problem, Tensor query, long longest, long tasks) {
        sequences = problem.sequences();
        queryHeads = problem.heads();
        keyValueHeads = problem.keyValueHeads();
        queries = query.dim(0) * query.dim(2);
        keys = longest;
        headDim = problem.headDim();
        this.tasks = tasks;
        commit();
    }
}
