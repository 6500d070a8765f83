package io.multihead.internal.toolcall;

import java.util.List;
import java.util.regex.Pattern;

/** How a family writes calls within the text of an answer. Immutable. */
public interface CallSyntax {
    /** Returns what a template writes for a call of {@code probed_name} with the argument {@code key} that is {@code value}. */
    Pattern written();

    /** Returns texts with which calls begin, anywhere. */
    List<String> marks();

    /** Returns texts with which calls may begin where no other text comes before. */
    default List<String> firstMarks() {
        return List.of();
    }

    /** Reads the calls that begin at the beginning of a text, which begins with a mark. */
    Reading read(String text, boolean ended, List<Tool> tools);

    /** Returns the rule {@code calls}, of one call or more. */
    CallRules rules(List<Tool> tools);

    /** Returns whether an answer is messages on channels, which are read otherwise than text with marks. */
    default boolean hasChannels() {
        return false;
    }
}
