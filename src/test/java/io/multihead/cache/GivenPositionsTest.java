package io.multihead.cache;

import static io.multihead.support.Tokens.DIM;
import static io.multihead.support.Tokens.HEADS;
import static io.multihead.support.Tokens.KV_HEADS;
import static io.multihead.support.Tokens.attend;
import static io.multihead.support.Tokens.gaussian;
import static io.multihead.support.Tokens.tokens;
import static io.multihead.support.Tokens.zeros;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.PackedSequences;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import io.multihead.position.RopeSections;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Keys that a cache rotates to given positions have the same bits as keys that were rotated before they were appended. */
@Tag("lanes")
class GivenPositionsTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int KEYS = 90;
    private static final int ROWS = 500;

    private final Tensor query = gaussian(2, HEADS, 1, DIM, 1);
    private final Tensor key = gaussian(2, KV_HEADS, KEYS, DIM, 2);
    private final Tensor value = gaussian(2, KV_HEADS, KEYS, DIM, 3);

    static Stream<Arguments> ropes() {
        Rope plain = Rope.of(Rope.Config.of(12));
        Rope interleaved = Rope.of(Rope.Config.of(DIM).withPairing(Pairing.INTERLEAVED));
        Rope tables = tables(ROWS);
        return Stream.of(
                Arguments.of(plain, DType.F32),
                Arguments.of(interleaved.withSections(RopeSections.interleaved(4, 3, 3)), DType.BF16),
                Arguments.of(tables, DType.I8),
                Arguments.of(tables.withSections(RopeSections.consecutive(1, 0, 2)), DType.F32));
    }

    private static Rope tables(int rows) {
        Tensor cos = gaussian(1, 1, rows, 3, 8).reshape(rows, 3);
        Tensor sin = gaussian(1, 1, rows, 3, 9).reshape(rows, 3);
        return Rope.ofTables(cos, sin, Pairing.HALF_SPLIT);
    }

    private static long[] random(int length) {
        SplittableRandom random = new SplittableRandom(length);
        return random.longs(length, 0, ROWS).toArray();
    }

    @ParameterizedTest
    @MethodSource("ropes")
    void batchesHaveTheBitsOfAPassBefore(Rope rope, DType dtype) {
        for (int length : new int[] {KEYS, 2 * KEYS, rope.streams() * 2 * KEYS}) {
            long[] positions = random(length);
            Tensor rotated = zeros(2, KV_HEADS, KEYS, DIM);
            rope.apply(SERIAL, key, rotated, positions);
            KeyValueCache expected = open(dtype);
            expected.append(SERIAL, 0, new int[] {0, 1}, rotated, value);
            KeyValueCache actual = open(dtype, rope);
            actual.append(SERIAL, 0, new int[] {0, 1}, NewTokens.of(key, value).withPositions(positions));
            assertSame(expected, actual);
        }
    }

    @ParameterizedTest
    @MethodSource("ropes")
    void packedSequencesHaveTheBitsOfAPassBefore(Rope rope, DType dtype) {
        PackedSequences parts = PackedSequences.ofLengths(37, KEYS - 37);
        Tensor packedKey = key.slice(0, 0, 1);
        Tensor packedValue = value.slice(0, 0, 1);
        for (int length : new int[] {KEYS, rope.streams() * KEYS}) {
            long[] positions = random(length);
            Tensor rotated = zeros(1, KV_HEADS, KEYS, DIM);
            rope.apply(SERIAL, packedKey, rotated, positions);
            KeyValueCache expected = open(dtype);
            expected.append(SERIAL, 0, new int[] {1, 0}, parts, rotated, packedValue);
            KeyValueCache actual = open(dtype, rope);
            NewTokens added = NewTokens.of(packedKey, packedValue).withPositions(positions);
            actual.append(SERIAL, 0, new int[] {1, 0}, added.withSequences(parts));
            assertSame(expected, actual);
        }
    }

    @ParameterizedTest
    @MethodSource("ropes")
    void withoutPositionsKeysAreRotatedToTheirIndex(Rope rope, DType dtype) {
        Tensor rotated = zeros(2, KV_HEADS, KEYS, DIM);
        rope.apply(SERIAL, key, rotated, 0);
        KeyValueCache expected = open(dtype);
        expected.append(SERIAL, 0, new int[] {0, 1}, rotated, value);
        KeyValueCache actual = open(dtype, rope);
        actual.append(SERIAL, 0, new int[] {0, 1}, NewTokens.of(tokens(key, 0, 50), tokens(value, 0, 50)));
        actual.append(SERIAL, 0, new int[] {0, 1}, tokens(key, 50, KEYS - 50), tokens(value, 50, KEYS - 50));
        assertSame(expected, actual);
    }

    private static KeyValueCache open(DType dtype, Rope... ropes) {
        Config config =
                Config.of(1, KV_HEADS, DIM).withFormat(CacheFormat.of(dtype)).withRopes(ropes);
        return KeyValueCache.contiguous(config, 2, KEYS);
    }

    private void assertSame(KeyValueCache expected, KeyValueCache actual) {
        double[] output = attend(SERIAL, query, actual.view(0, 0, 1), AttentionOptions.DEFAULT);
        assertArrayEquals(attend(SERIAL, query, expected.view(0, 0, 1), AttentionOptions.DEFAULT), output);
        assertTrue(Arrays.stream(output).allMatch(Double::isFinite));
    }

    @Test
    void positionsThatDoNotFitChangeNothing() {
        Rope rope = tables(100);
        KeyValueCache cache = open(DType.F32, rope);
        int[] both = {0, 1};
        cache.append(SERIAL, 0, both, tokens(key, 0, 60), tokens(value, 0, 60));
        Tensor some = tokens(key, 0, 41);
        Named.mentions(
                () -> cache.append(SERIAL, 0, both, some, some),
                "key: 41 tokens after the 60 of sequence 0",
                "[100, 3]");
        NewTokens three = NewTokens.of(tokens(key, 0, 3), tokens(value, 0, 3));
        Named.mentions(
                () -> cache.append(SERIAL, 0, both, three.withPositions(0, 100, 0)),
                "positions[1]: 100; expected 0 to 99",
                "tables cos and sin [100, 3]");
        Named.mentions(
                () -> cache.append(SERIAL, 0, both, three.withPositions(1, 2)), "positions: length 2; expected 3");
        assertEquals(60, cache.length(0, 0));
        cache.append(SERIAL, 0, both, three.withPositions(99, 0, 0));
        KeyValueCache plain = open(DType.F32);
        Named.mentions(() -> plain.append(SERIAL, 0, both, three.withPositions(1, 2, 3)), "positions", "has no ropes");
        assertEquals(0, plain.length(0, 0));
    }
}
