package io.multihead.cache;

import static io.multihead.support.Tokens.gaussian;
import static io.multihead.support.Tokens.zeros;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.support.Patience;
import io.multihead.support.Tries;
import io.multihead.tensor.Tensor;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/**
 * Decoding with a sliding window uses constant memory. The test does not run at every lane width, because memory does not depend on
 * vectors.
 */
class CacheMemoryTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int MEASURED_STEPS = 500_000;
    private static final int WARM_UP_STEPS = 200_000;
    /** The limit in bytes. Vectors are objects for some calls while C2 compiles code again, but no step allocates. */
    private static final long LIMIT = 500_000;

    private static final int WINDOW = 64;
    /** A sequence evicts whole blocks of 256 tokens, so it keeps at most 255 tokens before the window, and has whole pages of 64 tokens. */
    private static final int MOST_TOKENS = WINDOW + 256;

    private final KeyValueCache cache = KeyValueCache.paged(Config.of(1, 1, 4), 8 * 64 * 144);
    private final int sequence = cache.open();
    private final KeyValueView view = cache.view(0, sequence);
    private final Tensor token = gaussian(1, 1, 1, 4, 5);
    private final AttentionOutputs outputs = AttentionOutputs.of(zeros(1, 1, 1, 4));
    private final AttentionOptions window = AttentionOptions.CAUSAL.withMask(Mask.window(WINDOW - 1, 0));
    private int done;

    /** One new object of at least 16 bytes per step would exceed the limit even in a tenth of the steps. */
    @Test
    void decodingWithAWindowUsesConstantMemory() {
        decode(WARM_UP_STEPS); // vectors are objects until C2 has compiled the kernels
        int steps = (int) (MEASURED_STEPS * Math.clamp(Tries.factor(), 0.1, 1));
        long grown = decode(steps);
        // C2 compiles some code again, such as the merge of splits, which only long sequences need
        for (Patience patience = new Patience(); grown >= LIMIT && patience.isLeft(); ) {
            grown = decode(steps);
        }
        assertTrue(cache.usedBytes() <= MOST_TOKENS * cache.bytesPerToken(), "cache " + cache.usedBytes());
        assertTrue(grown < LIMIT, "allocated " + grown + " bytes in " + steps + " steps");
    }

    /** Returns the allocated bytes. */
    private long decode(int steps) {
        long before = allocated();
        for (int end = done + steps; done < end; done++) {
            cache.append(SERIAL, 0, sequence, token, token);
            Attention.forward(SERIAL, token, view, outputs, window);
            cache.slide(sequence, Math.max(0, done - (WINDOW - 1)));
        }
        return allocated() - before;
    }

    private static long allocated() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }
}
