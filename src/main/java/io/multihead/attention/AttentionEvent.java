package io.multihead.attention;

import jdk.jfr.Category;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** One call of attention in a flight recording; off unless the recording asks for {@code io.multihead.Attention}. */
@Name("io.multihead.Attention")
@Label("Attention")
@Category("Multihead")
@Enabled(false)
@StackTrace(false)
final class AttentionEvent extends Event {
    private static final EventType TYPE = EventType.getEventType(AttentionEvent.class);

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

    /** Whether somebody records; nothing is allocated while nobody does. */
    static boolean isRecorded() {
        return TYPE.isEnabled();
    }
}
