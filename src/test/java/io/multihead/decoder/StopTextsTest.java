package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.CharRange;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.constraints.StringLength;
import org.junit.jupiter.api.Test;

class StopTextsTest {
    @Test
    void whatMayBeginAStopTextIsHeldBack() {
        StopTexts stops = new StopTexts(List.of("\nUser:", "END"));
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
        StopTexts stops = new StopTexts(List.of("END"));
        assertEquals("the ", stops.add("the E"));
        assertEquals("E", stops.rest());
    }

    @Test
    void withoutStopTextsNothingIsHeldBack() {
        StopTexts stops = new StopTexts(List.of());
        assertEquals("E", stops.add("E"));
        assertEquals("", stops.rest());
    }

    @Property(tries = 1000)
    void theTextEndsBeforeTheFirstStopText(
            @ForAll @Size(min = 1, max = 3)
                    List<@StringLength(min = 1, max = 3) @CharRange(from = 'a', to = 'b') String> stops,
            @ForAll @StringLength(max = 20) @CharRange(from = 'a', to = 'c') String text) {
        StopTexts found = new StopTexts(stops);
        StringBuilder all = new StringBuilder();
        for (int at = 0; at < text.length(); at++) {
            all.append(found.add(text.substring(at, at + 1)));
        }
        all.append(found.rest());
        assertEquals(expected(stops, text), all.toString());
    }

    /** Of the stop texts that end first, the one that begins first ends the text. */
    private static String expected(List<String> stops, String text) {
        for (int end = 1; end <= text.length(); end++) {
            String begin = text.substring(0, end);
            int first = stops.stream()
                    .filter(begin::endsWith)
                    .mapToInt(stop -> begin.length() - stop.length())
                    .min()
                    .orElse(-1);
            if (first >= 0) {
                return text.substring(0, first);
            }
        }
        return text;
    }
}
