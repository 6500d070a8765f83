package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.support.Numbers;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

/**
 * Measures the table of docs/reference/cache.md: errors of element types of a cache whose keys have one large channel, as in models with
 * biased keys.
 *
 * <p>A key is rounded to steps of its scale, {@code 100 / 127}. The error is {@code step / sqrt(12)} for each of 127 channels, hence
 * {@code 0.227 sqrt(127 / 128) = 0.23} for a score. The relative error of a weight, and of the mean of 512 values with these weights, is as
 * large. In blocks of 32 channels only 31 channels have that step, and the error is {@code 0.227 sqrt(31 / 128) = 0.11}. bf16 and f16 round
 * the large channel itself, to steps of 0.5 and 0.0625, with an error of {@code step / sqrt(12 * 128)} for a score.
 */
class OutlierChannelTest {
    private static final Compute CPU = Compute.serial();
    private static final int HEADS = 8;
    private static final int KEYS = 512;
    private static final int DIM = 128;
    private static final int LARGE = 41;

    private final Tensor query = Tokens.gaussian(1, HEADS, 16, DIM, 1);
    private final Tensor plain = Tokens.gaussian(1, HEADS, KEYS, DIM, 2);
    private final Tensor value = Tokens.gaussian(1, HEADS, KEYS, DIM, 3);

    private Tensor withLargeChannel() {
        Tensor key = plain.copy(Arena.ofAuto(), DType.F32);
        for (int head = 0; head < HEADS; head++) {
            for (int token = 0; token < KEYS; token++) {
                key.set(100 + key.get(0, head, token, LARGE), 0, head, token, LARGE);
            }
        }
        return key;
    }

    /**
     * Returns the root mean square of the error, relative to the root mean square of the exact outputs, whose keys and values are not
     * narrowed.
     */
    private double error(Tensor exact, CacheFormat format) {
        KeyValueCache.Config config = KeyValueCache.Config.of(1, HEADS, DIM).withFormat(format);
        KeyValueCache cache = KeyValueCache.contiguous(config, 1, KEYS);
        cache.append(CPU, 0, 0, exact, value);
        Tensor output = Tensor.zeros(Arena.ofAuto(), DType.F32, 1, HEADS, 16, DIM);
        Attention.forward(
                CPU,
                query,
                cache.view(0, 0),
                AttentionOutputs.of(output),
                AttentionOptions.DEFAULT.withScale(1 / Math.sqrt(DIM)));
        double[] expected = ReferenceAttention.forward(query, exact, value, 1 / Math.sqrt(DIM), ScoreRule.NONE)
                .output();
        double[] actual = Numbers.of(output);
        double squares = 0;
        double errors = 0;
        for (int i = 0; i < expected.length; i++) {
            squares += expected[i] * expected[i];
            errors += (actual[i] - expected[i]) * (actual[i] - expected[i]);
        }
        return Math.sqrt(errors / squares);
    }

    @Test
    void aLargeChannelTakesTheBitsOfTheOthers() {
        Tensor key = withLargeChannel();
        assertEquals(0.24, error(key, CacheFormat.I8), 0.02);
        assertEquals(0.12, error(key, CacheFormat.I8_BLOCKS), 0.01);
        assertEquals(0.013, error(key, CacheFormat.BF16), 0.002);
        assertEquals(0.0016, error(key, CacheFormat.F16), 0.0003);
    }

    @Test
    void withoutOneEveryTypeIsNearlyExact() {
        assertEquals(0.009, error(plain, CacheFormat.I8), 0.001);
        assertEquals(0.008, error(plain, CacheFormat.I8_BLOCKS), 0.001);
        assertEquals(0.0024, error(plain, CacheFormat.BF16), 0.0003);
        assertEquals(0.0003, error(plain, CacheFormat.F16), 0.0001);
    }
}
