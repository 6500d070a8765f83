package io.multihead.attention;

import jdk.jfr.Category;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/**
 * One call of attention, forward or backward, in a flight recording; off unless the recording asks for
 * {@code io.multihead.Attention}.
 */
@Name("io.multihead.Attention")
@Label("Attention")
@Category("Multihead")
@Enabled(false)
@StackTrace(false)
final class AttentionEvent extends Event {
    private static final EventType TYPE = EventType.getEventType(AttentionEvent.class);

    @Label("Backward")
    boolean backward;

    @Label("Sequences")
    long sequences;

    @Label("Query heads")
    long queryHeads;

    @Label("Key heads")
    long keyHeads;

    @Label("Queries of all sequences")
    long queries;

    @Label("Keys of the longest sequence")
    long keys;

    @Label("Head dim")
    int headDim;

    @Label("Units of work")
    long units;

    /** An event that has begun, or null while nobody records: nothing is allocated then. */
    static @Nullable AttentionEvent start() {
        if (!TYPE.isEnabled()) {
            return null;
        }
        AttentionEvent event = new AttentionEvent();
        event.begin();
        return event;
    }

    /** Says what the call was and how many units it took. */
    void finish(AttentionCall call, long mostKeys, long newUnits) {
        sequences = call.batches;
        queryHeads = call.heads;
        keyHeads = call.kvHeads;
        queries = call.query().dim(0) * call.query().dim(2);
        keys = mostKeys;
        headDim = call.headDim;
        units = newUnits;
        commit();
    }
}
