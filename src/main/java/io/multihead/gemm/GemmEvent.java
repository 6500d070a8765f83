package io.multihead.gemm;

import jdk.jfr.Category;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** One matrix product in a flight recording; off unless the recording asks for {@code io.multihead.Gemm}. */
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

    @Label("Units of work")
    long units;

    /** An event that has begun, or null while nobody records: nothing is allocated then. */
    static @Nullable GemmEvent start() {
        if (!TYPE.isEnabled()) {
            return null;
        }
        GemmEvent event = new GemmEvent();
        event.begin();
        return event;
    }

    /** Says what the call was and how many units it took. */
    void finish(GemmCall call, long newUnits) {
        batches = call.batches;
        rows = call.rows;
        columns = call.columns;
        depth = call.depth;
        packed = call.packed() != null;
        units = newUnits;
        commit();
    }
}
