package io.multihead.cache;

import static io.multihead.faults.Named.mentions;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.Tokens;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The memory that each kind of cache reports for a sequence, and for tokens that a truncation frees. */
class SequenceSizesTest {
    private static final KeyValueCache.Config CONFIG = KeyValueCache.Config.of(1, 1, 4);
    private static final int WINDOW = 70;

    private final KeyValueCache whole = KeyValueCache.paged(CONFIG, 4096 * CONFIG.bytesPerToken());
    private final KeyValueCache windowed =
            KeyValueCache.windowed(Arena.ofAuto(), CONFIG, 4096 * CONFIG.bytesPerToken(), WINDOW);
    private final RecurrentCache recurrent = RecurrentCache.of(5);

    @Test
    void eachKindSaysWhatASequenceTakes() {
        long token = CONFIG.bytesPerToken();
        assertEquals(1000 * token, whole.bytesOfTokens(1000));
        assertEquals(10 * token, windowed.bytesOfTokens(10));
        assertEquals((WINDOW + 511) * token, windowed.bytesOfTokens(1000));
        assertEquals(0, recurrent.bytesOfTokens(1000));
        assertEquals(20, recurrent.bytesPerSequence());
        HybridCache all = HybridCache.of(List.of(whole, windowed, recurrent), 0, 1, 2);
        assertEquals((1000 + WINDOW + 511) * token, all.bytesOfTokens(1000));
        assertEquals(List.of(whole, windowed, recurrent), all.parts());
        assertEquals(List.of(whole), whole.parts());
        for (SequenceCache each : List.of(whole, windowed, recurrent, all)) {
            mentions(() -> each.bytesOfTokens(-1), "tokens: -1; expected at least 0");
        }
    }

    /** Between appends of one token, a sequence with a window never has more memory than {@code bytesOfTokens} and a partial page. */
    @Test
    void whatAWindowKeepsIsWhatItSays() {
        int sequence = windowed.open();
        for (int token = 0; token < 1200; token++) {
            Tensor row = Tokens.gaussian(1, 1, 1, 4, token);
            windowed.append(Compute.serial(), 0, sequence, row, row);
            // at most one partial page of 64 tokens is added
            long most = windowed.bytesOfTokens(token + 1L) + 64 * CONFIG.bytesPerToken();
            assertTrue(windowed.bytesOf(sequence) <= most, "token " + token + ": " + windowed.bytesOf(sequence));
        }
    }

    @Test
    void keysAndValuesSlideAndRecurrentStatesDoNot() {
        assertTrue(whole.slides());
        assertTrue(windowed.slides());
        assertFalse(recurrent.slides());
        assertTrue(HybridCache.of(List.of(whole, windowed), 0, 1).slides());
        KeyValueCache other = KeyValueCache.paged(CONFIG, 4096 * CONFIG.bytesPerToken());
        assertFalse(HybridCache.of(List.of(other, recurrent), 0, 1).slides());
    }
}
