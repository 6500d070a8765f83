package io.multihead.model;

import io.multihead.attention.KeyValueView;
import io.multihead.attention.PackedSequences;
import io.multihead.cache.CacheFullException;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.RecurrentCache;
import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.internal.attention.keyvalue.KeyValueAccess;
import io.multihead.internal.attention.keyvalue.TensorKeyValues;
import io.multihead.internal.base.Checks;
import io.multihead.internal.exec.CallGuard;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of one call of a model: packed sequences, without padding. With a cache, each sequence continues a sequence of the cache, with a
 * whole prompt, a chunk of a prompt, or a single token, in any combination. Without a cache, each sequence is complete.
 *
 * <p>A batch is reused from call to call: {@link #clear}, then {@link #begin} and {@link #add} for each sequence. Only one caller at a time may
 * use it: while a model computes the batch, another call or a change throws an {@link IllegalStateException}. A call with the same cache
 * sequences as the previous call, and no more tokens than an earlier call, allocates nothing. A call with other sequences creates a view of
 * them per layer.
 */
public final class TokenBatch {
    private static final int FIRST_SEQUENCES = 8;
    private static final int FIRST_TOKENS = 512;

    final CallGuard calls = new CallGuard("batch");
    private final @Nullable SequenceCache cache;
    /** The caches of which the cache consists, each for states of one kind. */
    private final List<? extends SequenceCache> parts;

    private final int capacity;
    /**
     * The ids of the tokens. The array grows with the number of tokens, because the capacity is only a limit, and may be larger than memory.
     */
    private int[] ids;

    private int[] types;
    private long[] positions;
    private int tokens;
    private int sequences;
    private long[] starts = new long[FIRST_SEQUENCES];
    private int[] numbers = new int[FIRST_SEQUENCES];
    /** The number of tokens of each sequence that other tokens see; -1 for all tokens. */
    private int[] keys = new int[FIRST_SEQUENCES];
    /** Scratch of the check that no sequence is repeated. */
    private final BitSet seen = new BitSet();

    /** The boundaries by the number of sequences, since attention needs arrays of the exact length. */
    private @Nullable Boundaries[] boundaries = new Boundaries[FIRST_SEQUENCES];

    /** Scratch of calls for a number of sequences. A later batch changes it. Callers outside this package get only the arrays of rows. */
    private static final class Boundaries {
        final long[] offsets;
        final long[] keys;
        final int[] numbers;
        final int[] firstRows;
        final int[] lastRows;
        final PackedSequences packed;
        final TensorKeyValues source;
        final KeyValueView keyValues;
        final @Nullable KeyValueView[] cached;
        /** The states, by the index of the state in a part and by sequence. */
        float[][][] states = {};

        Boundaries(int sequences, int layers) {
            offsets = new long[sequences + 1];
            keys = new long[sequences];
            numbers = new int[sequences];
            firstRows = new int[sequences];
            lastRows = new int[sequences];
            packed = KeyValueAccess.sequences(offsets, PackedSequences.class);
            source = TensorKeyValues.packed(offsets, keys);
            keyValues = KeyValueAccess.view(source, KeyValueView.class);
            cached = new KeyValueView[layers];
        }
    }

    private TokenBatch(@Nullable SequenceCache cache, int capacity) {
        Checks.fitsInt(Checks.atLeast(capacity, 1, "capacity"), "capacity");
        this.cache = cache;
        parts = cache == null ? List.of() : cache.parts();
        this.capacity = capacity;
        ids = new int[Math.min(capacity, FIRST_TOKENS)];
        types = new int[ids.length];
        positions = new long[ids.length];
    }

    /**
     * {@return an empty batch of complete sequences}
     *
     * @param capacity the largest number of tokens of a call
     */
    public static TokenBatch of(int capacity) {
        return new TokenBatch(null, capacity);
    }

    /**
     * {@return an empty batch of sequences that continue sequences of a cache}
     *
     * @param cache made with {@link Transformer#cacheConfig}, or by {@link Transformer#cache}
     * @param capacity the largest number of tokens of a call
     */
    public static TokenBatch of(SequenceCache cache, int capacity) {
        return new TokenBatch(Checks.notNull(cache, "cache"), capacity);
    }

    /** Removes all sequences and tokens. */
    public void clear() {
        calls.requireIdle();
        tokens = 0;
        sequences = 0;
    }

    /**
     * Begins a complete sequence, to which the next tokens belong.
     *
     * @throws IllegalStateException if this batch has a cache
     */
    public void begin() {
        if (cache != null) {
            throw new IllegalStateException("batch: has a cache; expected begin(sequence)");
        }
        begin(-1, "sequences");
    }

    /**
     * Begins the next tokens of a sequence of the cache.
     *
     * @param sequence an open sequence, not yet in this batch
     * @throws IllegalStateException if this batch has no cache
     * @throws IllegalArgumentException if the number is negative
     */
    public void begin(int sequence) {
        if (cache == null) {
            throw new IllegalStateException("batch: one without a cache; expected begin()");
        }
        begin((int) Checks.atLeast(sequence, 0, "sequence"), "sequences");
    }

    private void begin(int number, String argument) {
        calls.requireIdle();
        if (sequences == starts.length) {
            int longer = Checks.fitsInt(2L * sequences, argument);
            starts = Arrays.copyOf(starts, longer);
            numbers = Arrays.copyOf(numbers, longer);
            keys = Arrays.copyOf(keys, longer);
        }
        starts[sequences] = tokens;
        keys[sequences] = -1;
        numbers[sequences++] = number;
    }

    /**
     * Adds a token of type 0 to the sequence that began last.
     *
     * @param id row of the embedding table
     * @throws IllegalStateException if no sequence has begun, or the batch is full
     */
    public void add(int id) {
        add(id, 0);
    }

    /**
     * Adds a token to the sequence that began last.
     *
     * @param id row of the embedding table
     * @param type row of the table of token types, for example for the second of two texts; 0 if a model has no
     *     such table
     * @throws IllegalStateException if no sequence has begun, or the batch is full
     */
    public void add(int id, int type) {
        calls.requireIdle();
        if (sequences == 0) {
            throw new IllegalStateException("batch: no sequence; expected begin before add");
        }
        if (tokens == capacity) {
            throw new IllegalStateException("batch: full; expected at most " + capacity + " tokens");
        }
        if (tokens == ids.length) {
            int longer = (int) Math.min(2L * tokens, capacity);
            ids = Arrays.copyOf(ids, longer);
            types = Arrays.copyOf(types, longer);
            positions = Arrays.copyOf(positions, longer);
        }
        types[tokens] = type;
        ids[tokens++] = id;
    }

    /**
     * Ends the visible tokens of the sequence that began last. Tokens that are added to it after this call see the tokens before it. No token
     * sees them, not even the added tokens themselves. ColBERT's masks after a query are an example. This method is for models without causal
     * masks.
     *
     * @throws IllegalStateException if this batch has a cache, or the sequence has no tokens
     */
    public void endKeys() {
        calls.requireIdle();
        if (cache != null) {
            throw new IllegalStateException("batch: one with a cache; expected complete sequences");
        }
        if (sequences == 0 || tokens == starts[sequences - 1]) {
            throw new IllegalStateException("batch: no tokens in the last sequence; expected at least one");
        }
        keys[sequences - 1] = tokens - (int) starts[sequences - 1];
    }

    /** {@return the largest number of tokens of a call} */
    public int capacity() {
        return capacity;
    }

    /** {@return the number of tokens of all sequences} */
    public int tokens() {
        return tokens;
    }

    /** {@return the number of sequences} */
    public int sequences() {
        return sequences;
    }

    /**
     * Returns the first token of a sequence.
     *
     * @param sequence the index of the sequence, from 0; the number of sequences means the end of the last sequence
     * @return its row in the batch
     */
    public int start(int sequence) {
        Checks.index(sequence, sequences + 1L, "sequence");
        return sequence == sequences ? tokens : (int) starts[sequence];
    }

    /**
     * Returns the row of each sequence's first token, whose state a classifier reads.
     *
     * @return one row per sequence, in an array that belongs to this batch and is valid until its next use
     * @throws IllegalStateException if a sequence has no tokens
     */
    public int[] firstRows() {
        requireTokens();
        Boundaries exact = boundaries();
        for (int sequence = 0; sequence < sequences; sequence++) {
            exact.firstRows[sequence] = start(sequence);
        }
        return exact.firstRows;
    }

    /**
     * Returns the row of each sequence's last token, whose logits a decoder needs.
     *
     * @return one row per sequence, in an array that belongs to this batch and is valid until its next use
     * @throws IllegalStateException if a sequence has no tokens
     */
    public int[] lastRows() {
        requireTokens();
        Boundaries exact = boundaries();
        for (int sequence = 0; sequence < sequences; sequence++) {
            exact.lastRows[sequence] = start(sequence + 1) - 1;
        }
        return exact.lastRows;
    }

    void requireTokens() {
        for (int sequence = 0; sequence < sequences; sequence++) {
            if (start(sequence + 1) == start(sequence)) {
                throw new IllegalStateException("batch: no tokens in sequence " + sequence + "; expected at least one");
            }
        }
    }

    @Nullable
    SequenceCache cache() {
        return cache;
    }

    int id(int token) {
        return ids[token];
    }

    int type(int token) {
        return types[token];
    }

    /**
     * Returns the position of a token in its sequence, for parts that compute the batch.
     *
     * @param token its row in the batch
     * @return the position in the running or the last call, from 0
     */
    public long position(int token) {
        return positions[(int) Checks.index(token, tokens, "token")];
    }

    /** Fails if the position of a token is not below a number. */
    void requirePositions(long most) {
        for (int token = 0; token < tokens; token++) {
            if (positions[token] >= most) {
                throw Checks.fail("token " + token, "position " + positions[token], "expected fewer than " + most);
            }
        }
    }

    /** Fails if a layer of the cache keeps fewer tokens than a query sees. */
    void requireWindow(int layer, int window) {
        if (cache != null
                && cache.part(layer) instanceof KeyValueCache keys
                && !LayerCaches.keeps(keys.window(), window)) {
            throw Checks.fail(
                    "cache",
                    "a window of " + keys.window() + " tokens in layer " + layer,
                    "expected the window of the layers that read it");
        }
    }

    /** Finds the positions of all tokens, which follow the tokens of a layer of the cache. */
    void locate(int layer) {
        for (int sequence = 0; sequence < sequences; sequence++) {
            int first = start(sequence);
            int end = start(sequence + 1);
            long length = cache == null ? 0 : cache.length(layer, numbers[sequence]);
            for (int token = first; token < end; token++) {
                positions[token] = length + token - first;
            }
        }
    }

    /** Returns the boundaries of the sequences, which a later batch changes. */
    PackedSequences packed() {
        return boundaries().packed;
    }

    /** Returns the keys that the sequences see: the keys of the batch, or of a layer of the cache after the new keys were appended. */
    KeyValueView keyValues(Compute cpu, int layer, Tensor keys, Tensor values) {
        Boundaries exact = boundaries();
        if (cache == null) {
            exact.source.bind(keys, values);
            return exact.keyValues;
        }
        KeyValueCache part = (KeyValueCache) cache.part(layer);
        part.append(cpu, cache.layerOfPart(layer), exact.numbers, exact.packed, keys, values);
        return keyValues(layer);
    }

    /** Returns the keys of a layer of the cache that has appended the new keys. It fails without a cache. */
    KeyValueView keyValues(int layer) {
        SequenceCache of = cache;
        if (of == null) {
            throw new IllegalStateException("batch: one without a cache; expected one, as layers share keys of others");
        }
        Boundaries exact = boundaries();
        KeyValueView view = exact.cached[layer];
        if (view == null) {
            view = ((KeyValueCache) of.part(layer)).view(of.layerOfPart(layer), exact.numbers);
            exact.cached[layer] = view;
        }
        return view;
    }

    /**
     * Returns the recurrent states of the sequences, after their new tokens were counted: from a layer of the cache, or zeros.
     *
     * @param index the index of the state among the states of a part, which are all in use at the same time
     */
    float[][] states(int layer, int index, int floats) {
        Boundaries exact = boundaries();
        while (exact.states.length <= index) {
            exact.states = Arrays.copyOf(exact.states, exact.states.length + 1);
            exact.states[exact.states.length - 1] = new float[sequences][];
        }
        float[][] states = exact.states[index];
        for (int sequence = 0; sequence < sequences; sequence++) {
            if (cache == null) {
                boolean fits = states[sequence] != null && states[sequence].length >= floats;
                states[sequence] = fits ? states[sequence] : new float[floats];
                Arrays.fill(states[sequence], 0f);
            } else {
                RecurrentCache part = (RecurrentCache) cache.part(layer);
                int tokens = start(sequence + 1) - start(sequence);
                states[sequence] = part.states(cache.layerOfPart(layer), numbers[sequence], tokens);
            }
        }
        return states;
    }

    /**
     * Fails if a sequence is repeated, or a cache has no room. A cache of only keys and values is not checked here: it checks its room itself,
     * more exactly, before it changes. The sequences have been located, so they are open, and their numbers are bounded.
     */
    void requireRoom() {
        seen.clear();
        for (int sequence = 0; sequence < sequences && cache != null; sequence++) {
            int number = numbers[sequence];
            if (seen.get(number)) {
                throw Checks.fail("batch", "sequence " + number + " twice", "expected no sequence twice");
            }
            seen.set(number);
        }
        for (int i = 0; i < parts.size(); i++) {
            if (parts.size() > 1 || !(parts.get(i) instanceof KeyValueCache)) {
                requireRoom(parts.get(i));
            }
        }
    }

    private void requireRoom(SequenceCache part) {
        long needed = 0;
        for (int sequence = 0; sequence < sequences; sequence++) {
            needed += part.neededTokens(numbers[sequence], start(sequence + 1) - start(sequence));
        }
        if (needed > part.availableTokens()) {
            throw new CacheFullException("cache: room for " + needed + " tokens wanted; expected at most the "
                    + part.availableTokens() + " that are free");
        }
    }

    private Boundaries boundaries() {
        if (sequences >= boundaries.length) {
            boundaries = Arrays.copyOf(boundaries, Math.max(2 * boundaries.length, sequences + 1));
        }
        Boundaries exact = boundaries[sequences];
        if (exact == null) {
            exact = new Boundaries(sequences, cache == null ? 0 : cache.layers());
            boundaries[sequences] = exact;
        }
        System.arraycopy(starts, 0, exact.offsets, 0, sequences);
        exact.offsets[sequences] = tokens;
        for (int sequence = 0; sequence < sequences; sequence++) {
            exact.keys[sequence] = keys[sequence] < 0 ? start(sequence + 1) - start(sequence) : keys[sequence];
        }
        if (!Arrays.equals(exact.numbers, 0, sequences, numbers, 0, sequences)) {
            System.arraycopy(numbers, 0, exact.numbers, 0, sequences);
            Arrays.fill(exact.cached, null);
        }
        return exact;
    }
}
