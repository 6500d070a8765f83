package io.multihead.cache;

import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Appends tokens to sequences of one cache: it checks them, takes pages, writes, and finally counts them. It reuses its arrays, so that a
 * warm append allocates nothing. Not thread-safe.
 */
final class TokenAppender {
    private static final ScratchKey<AppendCall> CALL = ScratchKey.of(AppendCall::new);

    private final PagePool pool;
    private final Sequences sequences;
    private final @Nullable Rope[] ropes;
    private final int[] one = new int[1];
    /** Boundaries of the packed sequences of the last call. */
    private long[] offsets = new long[1];
    /** Memory of the check that no sequence occurs twice. */
    private final BitSet seen = new BitSet();

    /** Creates an appender with the ropes that rotate keys: one per layer, or null for layers whose keys are appended unchanged. */
    TokenAppender(PagePool pool, Sequences sequences, @Nullable Rope[] ropes) {
        this.pool = pool;
        this.sequences = sequences;
        this.ropes = ropes;
    }

    /** Appends tokens to one sequence. */
    void append(Compute cpu, int layer, int sequence, Tensor key, Tensor value) {
        one[0] = sequence;
        append(cpu, layer, one, null, key, value);
    }

    /** Appends the same number of tokens to each sequence. */
    void append(Compute cpu, int layer, int[] to, long @Nullable [] positions, Tensor key, Tensor value) {
        CacheChecks.requireTokens(pool, cpu, key, value);
        if (key.dim(0) != Checks.notNull(to, "to").length) {
            throw Checks.fail(
                    "key", "shape " + key.shape(), "expected a batch for each of " + to.length + " sequences");
        }
        appendAll(cpu, layer, to, null, positions, key, value);
    }

    /** Appends packed tokens of several sequences. */
    void append(
            Compute cpu,
            int layer,
            int[] to,
            PackedSequences tokens,
            long @Nullable [] positions,
            Tensor key,
            Tensor value) {
        CacheChecks.requireTokens(pool, cpu, key, value);
        CacheChecks.requirePacked(to, tokens, key);
        if (tokens.count() + 1 != offsets.length) {
            offsets = new long[tokens.count() + 1];
        }
        for (int sequence = 0; sequence < tokens.count(); sequence++) {
            offsets[sequence + 1] = tokens.end(sequence);
        }
        appendAll(cpu, layer, to, offsets, positions, key, value);
    }

    private void appendAll(
            Compute cpu,
            int layer,
            int[] to,
            long @Nullable [] packed,
            long @Nullable [] positions,
            Tensor key,
            Tensor value) {
        Checks.index(layer, ropes.length, "layer");
        sequences.requireDistinct("to", to, seen);
        Rope rope = ropes[layer];
        CacheChecks.requirePositions(rope, positions, key);
        if (rope != null && positions == null) {
            sequences.requireIndices(rope, layer, to, packed, key.dim(2));
        }
        try (AppendCall call = Operation.open(cpu, CALL)) { // first: a closed Compute must take no pages
            sequences.makeRoom(layer, to, packed, key.dim(2));
            call.bind(pool, sequences, rope, layer);
            call.bindTokens(to, packed, key, value);
            call.bindPositions(positions);
            call.run();
            sequences.advance(layer, to, packed, key.dim(2));
        } finally {
            sequences.trim(to);
        }
    }
}
