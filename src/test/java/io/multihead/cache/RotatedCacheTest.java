package io.multihead.cache;

import static io.multihead.support.Tokens.DIM;
import static io.multihead.support.Tokens.HEADS;
import static io.multihead.support.Tokens.KV_HEADS;
import static io.multihead.support.Tokens.attend;
import static io.multihead.support.Tokens.gaussian;
import static io.multihead.support.Tokens.tokens;
import static io.multihead.support.Tokens.zeros;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import io.multihead.position.RopeScaling;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Keys that a cache rotates have the same bits as keys that were rotated before they were appended. */
@Tag("lanes")
class RotatedCacheTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int KEYS = 300;
    private static final Rope PARTIAL = Rope.of(Rope.Config.of(12).withTheta(500));
    /** The attention factor changes keys at position 0, too. */
    private static final Rope WHOLE = Rope.of(Rope.Config.of(DIM)
            .withPairing(Pairing.INTERLEAVED)
            .withScaling(new RopeScaling.Yarn(16, 4096, 32, 1, 1.2772588722239782)));

    private final Tensor query = gaussian(1, HEADS, 1, DIM, 1);
    private final Tensor key = gaussian(1, KV_HEADS, KEYS, DIM, 2);
    private final Tensor value = gaussian(1, KV_HEADS, KEYS, DIM, 3);

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "BF16", "F16", "I8"})
    void rotationOnTheWayInHasTheBitsOfAPassBefore(DType dtype) {
        Config plain = Config.of(2, KV_HEADS, DIM).withFormat(CacheFormat.of(dtype));
        KeyValueCache expected = KeyValueCache.paged(plain, 1L << 23);
        KeyValueCache actual = KeyValueCache.paged(plain.withRopes(PARTIAL, WHOLE), 1L << 23);
        expected.open();
        actual.open();
        for (int layer = 0; layer < 2; layer++) {
            Tensor rotated = zeros(1, KV_HEADS, KEYS, DIM);
            (layer == 0 ? PARTIAL : WHOLE).apply(SERIAL, key, rotated, 0);
            assertFalse(Arrays.equals(Numbers.of(key), Numbers.of(rotated)));
            expected.append(SERIAL, layer, 0, rotated, value);
            int first = 0;
            for (int chunk : new int[] {100, 1, 60, KEYS - 161}) {
                actual.append(SERIAL, layer, 0, tokens(key, first, chunk), tokens(value, first, chunk));
                first += chunk;
            }
            assertSame(expected, actual, layer, 0);
        }
        // positions continue after a truncation and in a fork
        int fork = actual.fork(0);
        actual.truncate(fork, 130);
        for (int layer = 0; layer < 2; layer++) {
            actual.append(SERIAL, layer, fork, tokens(key, 130, KEYS - 130), tokens(value, 130, KEYS - 130));
            assertSame(expected, actual, layer, fork);
        }
    }

    private void assertSame(KeyValueCache expected, KeyValueCache actual, int layer, int sequence) {
        assertArrayEquals(
                attend(SERIAL, query, expected.view(layer, 0), AttentionOptions.CAUSAL),
                attend(SERIAL, query, actual.view(layer, sequence), AttentionOptions.CAUSAL));
    }

    @Test
    void aRowOfFloatsHasTheBitsOfATensor() {
        for (Rope rope : List.of(PARTIAL, WHOLE)) {
            for (long position : new long[] {0, 7, 130_000, 5_000_000}) {
                Tensor rotated = zeros(1, KV_HEADS, KEYS, DIM);
                rope.apply(SERIAL, key, rotated, position);
                float[] rows = new float[3 + KEYS * DIM];
                double[] before = Numbers.of(key);
                double[] expected = Numbers.of(rotated);
                for (int i = 0; i < KEYS * DIM; i++) {
                    rows[3 + i] = (float) before[i];
                }
                for (int token = 0; token < KEYS; token++) {
                    rope.apply(rows, 3 + token * DIM, position + token);
                }
                for (int i = 0; i < KEYS * DIM; i++) {
                    assertTrue(rows[3 + i] == expected[i], "element " + i + " at position " + position);
                }
            }
        }
    }

    @Test
    void saysWhatDoesNotFit() {
        Config config = Config.of(3, KV_HEADS, 10);
        assertThrows(IllegalArgumentException.class, () -> config.withRopes(WHOLE));
        Rope small = Rope.of(Rope.Config.of(8));
        IllegalArgumentException two =
                assertThrows(IllegalArgumentException.class, () -> config.withRopes(small, small));
        assertTrue(two.getMessage().contains("per layer of 3"), two.getMessage());
        float[] row = new float[9];
        IllegalArgumentException end = assertThrows(IllegalArgumentException.class, () -> small.apply(row, 2, 0));
        assertTrue(end.getMessage().startsWith("at"), end.getMessage());
        assertThrows(IllegalArgumentException.class, () -> small.apply(row, 0, -1));
    }
}
