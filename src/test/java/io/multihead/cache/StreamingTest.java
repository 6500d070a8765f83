package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionState;
import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.position.Rope;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.ScoreRule;
import io.multihead.support.Numbers;
import io.multihead.support.PageCode;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Tests the class of docs/reference/cache.md. Attention over the first tokens and a window is compared with one softmax over both. */
class StreamingTest {
    private static final Compute CPU = Compute.serial();
    private static final int HEADS = 2;
    private static final int DIM = 16;
    private static final int WINDOW = 20;
    private static final int PROMPT = 30;
    /** There are more than two blocks of 256 keys, so that evictions free memory. */
    private static final int TOKENS = 700;

    record Streaming(KeyValueCache cache, Rope rope, int first, int recent, long window) {
        static final int SINKS = 4;

        /** Splits a sequence of at least 4 tokens. */
        static Streaming of(KeyValueCache cache, Rope rope, int sequence, long window) {
            int first = cache.fork(sequence);
            cache.truncate(first, SINKS);
            cache.slide(sequence, SINKS);
            return new Streaming(cache, rope, first, sequence, window);
        }

        /** Attends with one token of one layer, after its key and value were appended to the recent sequence. */
        void attend(Compute cpu, int layer, Tensor query, Tensor rotated, AttentionState part, AttentionState merged) {
            long position = cache.length(layer, recent) - 1;
            rope.apply(cpu, query, rotated, Math.min(position, SINKS + window - 1));
            Attention.forward(cpu, rotated, cache.view(layer, first), part.outputs(), AttentionOptions.DEFAULT);
            rope.apply(cpu, query, rotated, position);
            AttentionOptions last = AttentionOptions.DEFAULT.withMask(Mask.window(window - 1, 0));
            Attention.forward(cpu, rotated, cache.view(layer, recent), merged.outputs(), last);
            AttentionState.merge(cpu, part, merged, merged);
        }

        /** Frees tokens that no later token sees, after all layers of a token. */
        void slide() {
            cache.slide(recent, Math.max(cache.firstKey(recent), cache.length(0, recent) - window));
        }
    }

    private final Rope rope = Rope.of(Rope.Config.of(DIM));
    private final Tensor queries = Tokens.gaussian(1, HEADS, TOKENS, DIM, 1);
    private final Tensor keys = Tokens.gaussian(1, HEADS, TOKENS, DIM, 2);
    private final Tensor values = Tokens.gaussian(1, HEADS, TOKENS, DIM, 3);

    private static AttentionState state() {
        return new AttentionState(zeros(1, HEADS, 1, DIM), Tensor.zeros(Arena.ofAuto(), DType.F64, 1, HEADS, 1));
    }

    private static Tensor zeros(long... dims) {
        return Tensor.zeros(Arena.ofAuto(), DType.F32, dims);
    }

    @Test
    void thePageHasThisCode() throws IOException {
        PageCode.isTested(
                Path.of("docs/reference/cache.md"), Path.of("src/test/java/io/multihead/cache/StreamingTest.java"));
    }

    @Test
    void theFirstTokensAndTheWindowAreOneSoftmax() {
        KeyValueCache cache =
                KeyValueCache.paged(KeyValueCache.Config.of(1, HEADS, DIM).withRopes(rope), 1 << 20);
        int sequence = cache.open();
        cache.append(CPU, 0, sequence, keys.slice(2, 0, PROMPT), values.slice(2, 0, PROMPT));
        Streaming streaming = Streaming.of(cache, rope, sequence, WINDOW);
        AttentionState part = state();
        AttentionState merged = state();
        for (int token = PROMPT; token < TOKENS; token++) {
            cache.append(CPU, 0, sequence, keys.slice(2, token, token + 1), values.slice(2, token, token + 1));
            Tensor query = queries.slice(2, token, token + 1);
            streaming.attend(CPU, 0, query, zeros(1, HEADS, 1, DIM), part, merged);
            streaming.slide();
            if (token % 67 == 0 || token == TOKENS - 1) {
                check(query, token, merged);
            }
        }
        // the cache has 20 tokens of the window, up to 255 tokens of a block that is not yet freed, in pages of 64, and
        // the page of the first tokens
        assertEquals(TOKENS - WINDOW, cache.firstKey(sequence));
        assertEquals(true, cache.usedBytes() <= cache.bytesPerToken() * 64 * 7, cache.usedBytes() + " bytes");
    }

    /** Compares with one softmax over the first tokens, at positions 0 to 3, and the window at the positions that follow. */
    private void check(Tensor query, int token, AttentionState merged) {
        int seen = Streaming.SINKS + WINDOW;
        Tensor key = both(keys, token);
        Tensor value = both(values, token);
        Tensor one = zeros(1, HEADS, 1, DIM);
        Tensor rotatedKey = zeros(1, HEADS, seen, DIM);
        Tensor rotatedQuery = zeros(1, HEADS, 1, DIM);
        rope.apply(CPU, key, rotatedKey, 0);
        rope.apply(CPU, query, rotatedQuery, seen - 1);
        Attention.forward(CPU, rotatedQuery, rotatedKey, value, AttentionOutputs.of(one), AttentionOptions.DEFAULT);
        // angles of positions up to 700 are rounded to f32, which changes a score of at most 4 by 700 * 2^-24 * 2 of
        // its size; values are below 5
        assertArrayEquals(Numbers.of(one), Numbers.of(merged.output()), 700 * 0x1p-24 * 2 * 4 * 5);

        ReferenceRope reference = ReferenceRope.of(DIM, 10_000, false);
        double[] turned =
                reference.apply(key, LongStream.range(0, seen).toArray(), false).output();
        double[] asked = reference.apply(query, new long[] {seen - 1}, false).output();
        double[] expected = ReferenceAttention.forward(
                        Tensor.of(asked, 1, HEADS, 1, DIM),
                        Tensor.of(turned, 1, HEADS, seen, DIM),
                        value,
                        1 / Math.sqrt(DIM),
                        ScoreRule.NONE)
                .output();
        assertArrayEquals(expected, Numbers.of(merged.output()), 700 * 0x1p-24 * 2 * 4 * 5);
    }

    private static Tensor both(Tensor all, int token) {
        Tensor both = zeros(1, HEADS, Streaming.SINKS + WINDOW, DIM);
        Tensor.concat(2, both, all.slice(2, 0, Streaming.SINKS), all.slice(2, token + 1 - WINDOW, token + 1));
        return both;
    }
}
