package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.CharRange;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.constraints.StringLength;
import org.junit.jupiter.api.Test;

class StopSequencesTest {
    @Test
    void whatMayBeginAStopTextIsHeldBack() {
        StopSequences stops = new StopSequences(List.of("\nUser:", "END"), "");
        assertEquals("Hello", stops.add("Hello"));
        assertEquals("", stops.add("\n"));
        assertEquals("", stops.add("Us"));
        assertEquals("\nUse it", stops.add("e it"));
        assertEquals(" ", stops.add(" EN"));
        assertFalse(stops.isFound());
        assertEquals("", stops.add("D and more"));
        assertTrue(stops.isFound());
        assertEquals("", stops.add("after"));
        assertEquals("", stops.rest());
    }

    @Test
    void whatWasHeldBackIsTheRest() {
        StopSequences stops = new StopSequences(List.of("END"), "");
        assertEquals("the ", stops.add("the E"));
        assertEquals("E", stops.rest());
    }

    @Test
    void withoutStopSequencesNothingIsHeldBack() {
        StopSequences stops = new StopSequences(List.of(), "");
        assertEquals("E", stops.add("E"));
        assertEquals("", stops.rest());
    }

    /** The stop sequence that begins first counts. A complete stop sequence waits for one that began earlier and may become complete. */
    @Test
    void aStopTextWaitsForOneThatBeganBeforeIt() {
        StopSequences comes = new StopSequences(List.of("b", "abcd"), "");
        assertEquals("x", comes.add("xab"));
        assertFalse(comes.isFound());
        assertEquals("", comes.add("c"));
        assertEquals("", comes.add("d"));
        assertTrue(comes.isFound());

        StopSequences doesNot = new StopSequences(List.of("b", "abcd"), "");
        assertEquals("x", doesNot.add("xabc"));
        assertEquals("a", doesNot.add("x"));
        assertTrue(doesNot.isFound());

        StopSequences ended = new StopSequences(List.of("b", "abcd"), "");
        assertEquals("x", ended.add("xabc"));
        assertFalse(ended.isFound());
        assertEquals("a", ended.rest());
        assertTrue(ended.isFound());
    }

    @Test
    void ofThoseThatBeginAtOnePlaceTheShortestEndsTheText() {
        StopSequences stops = new StopSequences(List.of("END.", "END"), "");
        assertEquals("", stops.add("EN"));
        assertEquals("", stops.add("D"));
        assertTrue(stops.isFound());
    }

    @Property(tries = 1000)
    void theTextEndsBeforeTheFirstStopText(
            @ForAll @Size(min = 1, max = 4)
                    List<@StringLength(min = 1, max = 4) @CharRange(from = 'a', to = 'b') String> stops,
            @ForAll @StringLength(max = 20) @CharRange(from = 'a', to = 'c') String text,
            @ForAll @Size(min = 1, max = 5) List<@IntRange(min = 0, max = 6) Integer> lengths) {
        StopSequences found = new StopSequences(stops, "");
        StringBuilder all = new StringBuilder();
        int at = 0;
        for (int part = 0; at < text.length(); part++) {
            // lengths may be 0, but at least one letter is added per round
            int length = lengths.get(part % lengths.size()) + (part % lengths.size() == 0 ? 1 : 0);
            int end = Math.min(text.length(), at + length);
            all.append(found.add(text.substring(at, end)));
            at = end;
            assertEquals(certain(stops, text.substring(0, at)), all.toString());
        }
        all.append(found.rest());
        int first = first(stops, text);
        assertEquals(text.substring(0, first), all.toString());
        assertEquals(first < text.length(), found.isFound());
    }

    /** Returns the index of the first stop sequence in a text, or the length of the text if there is none. */
    private static int first(List<String> stops, String text) {
        return stops.stream()
                .mapToInt(text::indexOf)
                .filter(at -> at >= 0)
                .min()
                .orElse(text.length());
    }

    /**
     * Returns the text that is certain to precede a stop sequence. It ends before the first stop sequence, or before the beginning of one
     * at the end of the text.
     */
    private static String certain(List<String> stops, String text) {
        int first = first(stops, text);
        for (String stop : stops) {
            for (int length = 1; length < stop.length(); length++) {
                if (text.endsWith(stop.substring(0, length))) {
                    first = Math.min(first, text.length() - length);
                }
            }
        }
        return text.substring(0, first);
    }
}
