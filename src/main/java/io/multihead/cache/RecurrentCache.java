package io.multihead.cache;

import io.multihead.internal.base.Checks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.IntToLongFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Recurrent states of many sequences and all layers: for each sequence a fixed number of f32 values, independent of its length. A layer
 * changes them in place with each token. States are on the Java heap. A state is allocated, as zeros, when a sequence gets its first token,
 * and is reused for other sequences later.
 *
 * <p>The last tokens cannot be removed from a state. Therefore a sequence can be truncated only to the lengths of its {@linkplain #snapshot
 * snapshots}, to its present length, and to 0. Forks and snapshots share memory with their sequence until one of them changes, which copies {@link
 * #bytesPerSequence} bytes.
 *
 * <p>Not thread-safe: one thread at a time may use it. The arrays of {@link #states} may be written by other threads of the caller until
 * the next call.
 */
public final class RecurrentCache implements SequenceCache {
    private static final long MOST_TOKENS = 1L << 62;
    /** The largest number of snapshots of a sequence: the start of drafts, the end of a prompt, and the end of the previous prompt. */
    static final int MOST_SNAPSHOTS = 3;

    /**
     * The number of tokens for which one state of {@link #bytesPerSequence} counts after {@link #limitStates}. A state holds any number of
     * tokens.
     */
    public static final long TOKENS_OF_STATE = 1L << 32;

    private static final String EVEN = "expected one length, as after a whole step";

    private final int[] floats;
    private final List<@Nullable States> sequences = new ArrayList<>();
    private final ArrayDeque<float[][]> free = new ArrayDeque<>();
    /** The number of sets of states that sequences and snapshots hold. */
    private long used;
    /** The largest number of sets of states. */
    private long mostSets = Long.MAX_VALUE;

    /** The states of all layers, which sequences and snapshots may share. */
    private static final class Rows {
        final float[][] layers;
        int owners = 1;

        Rows(float[][] layers) {
            this.layers = layers;
        }
    }

    /** An earlier state of a sequence; without rows, all states are zero. */
    private record Snapshot(long length, @Nullable Rows rows) {}

    /** The state of a sequence. */
    private static final class States {
        final long[] lengths;
        /** Snapshots in ascending order of length. */
        final List<Snapshot> snapshots = new ArrayList<>();

        @Nullable
        Rows rows;

        States(int layers) {
            lengths = new long[layers];
        }

        long least() {
            return Arrays.stream(lengths).min().orElseThrow();
        }

        /** Returns whether all layers have the same length; otherwise a step has failed, or is running. */
        boolean isEven() {
            return Arrays.stream(lengths).allMatch(length -> length == lengths[0]);
        }
    }

    private RecurrentCache(int[] floats) {
        this.floats = floats;
    }

    /**
     * Creates a cache without sequences.
     *
     * @param floats the number of floats of one sequence, for each layer
     * @return the cache
     * @throws IllegalArgumentException if there is no layer, or a layer has less than one float
     */
    public static RecurrentCache of(int... floats) {
        int[] copy = Checks.notNull(floats, "floats").clone();
        Checks.atLeast(copy.length, 1, "floats");
        for (int each : copy) {
            Checks.atLeast(each, 1, "floats");
        }
        return new RecurrentCache(copy);
    }

    /**
     * Returns the number of floats of a layer's state.
     *
     * @param layer from 0
     * @return the length of an array of {@link #states}
     */
    public int floats(int layer) {
        return floats[(int) Checks.index(layer, floats.length, "layer")];
    }

    @Override
    public void limitStates(long states) {
        mostSets = Checks.atLeast(states, 1, "states");
    }

    @Override
    public int layers() {
        return floats.length;
    }

    @Override
    public SequenceCache part(int layer) {
        Checks.index(layer, floats.length, "layer");
        return this;
    }

    @Override
    public int layerOfPart(int layer) {
        return (int) Checks.index(layer, floats.length, "layer");
    }

    @Override
    public int open() {
        return put(new States(floats.length));
    }

    @Override
    public int fork(int sequence) {
        States from = get(sequence);
        States fork = new States(floats.length);
        int number = put(fork); // first, because there may be no memory for it
        System.arraycopy(from.lengths, 0, fork.lengths, 0, floats.length);
        fork.rows = share(from.rows);
        for (Snapshot snapshot : from.snapshots) {
            fork.snapshots.add(new Snapshot(snapshot.length, share(snapshot.rows)));
        }
        return number;
    }

    @Override
    public void close(int sequence) {
        States closed = get(sequence);
        release(closed.rows);
        closed.snapshots.forEach(snapshot -> release(snapshot.rows));
        sequences.set(sequence, null);
    }

    private int put(States sequence) {
        int number = sequences.indexOf(null);
        if (number < 0) {
            sequences.add(sequence);
            return sequences.size() - 1;
        }
        sequences.set(number, sequence);
        return number;
    }

    private States get(int number) {
        States sequence = number < 0 || number >= sequences.size() ? null : sequences.get(number);
        if (sequence == null) {
            throw Checks.fail("sequence", String.valueOf(number), "expected an open sequence");
        }
        return sequence;
    }

    private static @Nullable Rows share(@Nullable Rows rows) {
        if (rows != null) {
            rows.owners++;
        }
        return rows;
    }

    private void release(@Nullable Rows rows) {
        if (rows != null && --rows.owners == 0) {
            free.push(rows.layers);
            used--;
        }
    }

    /** Fails if {@code sets} more states would exceed the limit. */
    void requireRoom(long sets) {
        if (sets > mostSets - used) {
            throw new CacheFullException("cache: " + sets + " recurrent states of " + bytesPerSequence()
                    + " bytes wanted; expected at most the " + Math.max(0, mostSets - used) + " free of " + mostSets);
        }
    }

    private Rows take() {
        requireRoom(1);
        float[][] layers = free.poll();
        if (layers == null) {
            layers = new float[floats.length][];
            for (int layer = 0; layer < layers.length; layer++) {
                layers[layer] = new float[floats[layer]];
            }
        }
        used++;
        return new Rows(layers);
    }

    /**
     * Returns the state of one layer for the tokens that follow, and counts these tokens: the caller must apply them to the state, in
     * place. If a step failed and the layers of a sequence have different lengths, the sequence can be truncated to a snapshot or to 0.
     *
     * @param layer from 0
     * @param sequence an open sequence
     * @param tokens number of new tokens, at least 1
     * @return {@link #floats} values, which belong to this sequence until the next call; all zero if it had no tokens
     * @throws IllegalArgumentException if there is no such layer or sequence, or less than one token
     * @throws CacheFullException if the number of states would exceed the limit of {@link #limitStates}; nothing changes
     */
    public float[] states(int layer, int sequence, long tokens) {
        Checks.index(layer, floats.length, "layer");
        States of = get(sequence);
        Checks.index(tokens - 1, MOST_TOKENS, "tokens");
        Rows rows = of.rows;
        if (rows == null) {
            rows = take();
            for (float[] each : rows.layers) {
                Arrays.fill(each, 0f);
            }
        } else if (rows.owners > 1) {
            Rows copy = take();
            for (int i = 0; i < floats.length; i++) {
                System.arraycopy(rows.layers[i], 0, copy.layers[i], 0, floats[i]);
            }
            rows.owners--;
            rows = copy;
        }
        of.rows = rows;
        of.lengths[layer] += tokens;
        return rows.layers[layer];
    }

    @Override
    public long length(int layer, int sequence) {
        Checks.index(layer, floats.length, "layer");
        return get(sequence).lengths[layer];
    }

    @Override
    public long firstKey(int sequence) {
        get(sequence);
        return 0;
    }

    @Override
    public boolean truncatesAnywhere() {
        return false;
    }

    @Override
    public long restorable(int sequence, long length) {
        States of = get(sequence);
        Checks.atLeast(length, 0, "length");
        if (of.isEven() && of.lengths[0] <= length) {
            return of.lengths[0];
        }
        long most = 0;
        for (Snapshot snapshot : of.snapshots) {
            most = snapshot.length <= length ? snapshot.length : most;
        }
        return most;
    }

    @Override
    public void truncate(int sequence, long length) {
        States of = get(sequence);
        Checks.atLeast(length, 0, "length");
        if (Arrays.stream(of.lengths).allMatch(each -> each <= length)) {
            return;
        }
        long most = restorable(sequence, length);
        if (most != length) {
            throw Checks.fail(
                    "length",
                    String.valueOf(length),
                    "expected 0 or a snapshot's, "
                            + of.snapshots.stream().map(Snapshot::length).toList()
                            + ", as layers have recurrent states");
        }
        Rows restored = null;
        for (int i = of.snapshots.size() - 1; i >= 0; i--) {
            Snapshot snapshot = of.snapshots.get(i);
            if (snapshot.length > length) {
                release(of.snapshots.remove(i).rows);
            } else if (snapshot.length == length) {
                restored = share(snapshot.rows);
            }
        }
        release(of.rows);
        of.rows = restored;
        Arrays.fill(of.lengths, length);
    }

    @Override
    public void snapshot(int sequence) {
        States of = get(sequence);
        if (!of.isEven()) {
            throw uneven(sequence, of.lengths);
        }
        long length = of.lengths[0];
        List<Snapshot> all = of.snapshots;
        boolean isThere = !all.isEmpty() && all.get(all.size() - 1).length == length;
        if (length > 0 && !isThere) {
            all.add(new Snapshot(length, share(of.rows)));
        }
        if (all.size() > MOST_SNAPSHOTS) {
            release(all.remove(nearest(all.size(), i -> all.get(i).length)).rows);
        }
    }

    /** Returns the exception for a snapshot during a step or after a failed step. */
    static IllegalStateException uneven(int sequence, long[] lengths) {
        return new IllegalStateException(
                "sequence " + sequence + ": layers of lengths " + Arrays.toString(lengths) + "; " + EVEN);
    }

    /** Returns the index of the snapshot that is cheapest to compute again from its predecessor, except the newest. */
    static int nearest(int count, IntToLongFunction length) {
        int nearest = 0;
        long least = Long.MAX_VALUE;
        for (int i = 0; i + 1 < count; i++) {
            long tokens = length.applyAsLong(i) - (i == 0 ? 0 : length.applyAsLong(i - 1));
            nearest = tokens < least ? i : nearest;
            least = Math.min(least, tokens);
        }
        return nearest;
    }

    @Override
    public boolean slides() {
        return false;
    }

    @Override
    public void slide(int sequence, long firstKey) {
        get(sequence);
        throw new IllegalStateException("sequence " + sequence
                + ": recurrent states, which cannot drop their first tokens; expected only keys and values");
    }

    @Override
    public long bytesPerToken() {
        return 0;
    }

    @Override
    public long bytesPerSequence() {
        return Arrays.stream(floats).asLongStream().sum() * Float.BYTES;
    }

    @Override
    public long usedBytes() {
        return used * bytesPerSequence();
    }

    @Override
    public long bytesOf(int... of) {
        List<Rows> distinct = new ArrayList<>();
        BitSet seen = new BitSet();
        for (int sequence : Checks.notNull(of, "of")) {
            States states = get(sequence);
            if (!seen.get(sequence)) {
                add(distinct, states.rows);
                states.snapshots.forEach(snapshot -> add(distinct, snapshot.rows));
            }
            seen.set(sequence);
        }
        return distinct.size() * bytesPerSequence();
    }

    private static void add(List<Rows> distinct, @Nullable Rows rows) {
        if (rows != null && distinct.stream().noneMatch(each -> each == rows)) {
            distinct.add(rows);
        }
    }

    private boolean isLimited() {
        return mostSets < Long.MAX_VALUE;
    }

    @Override
    public long availableTokens() {
        return isLimited()
                ? Math.clamp(mostSets - used, 0, MOST_TOKENS / TOKENS_OF_STATE) * TOKENS_OF_STATE
                : MOST_TOKENS;
    }

    @Override
    public long neededTokens(int sequence, long tokens) {
        States of = get(sequence);
        Checks.index(tokens, MOST_TOKENS, "tokens");
        boolean takes = isLimited() && tokens > 0 && (of.rows == null || of.rows.owners > 1);
        return takes ? TOKENS_OF_STATE : 0;
    }

    @Override
    public long freedTokens(int sequence, long length) {
        States of = get(sequence);
        long left = restorable(sequence, length);
        if (!isLimited() || of.isEven() && of.lengths[0] <= length) {
            return 0;
        }
        List<Rows> after = new ArrayList<>();
        List<Rows> before = new ArrayList<>();
        add(before, of.rows);
        for (Snapshot snapshot : of.snapshots) {
            add(before, snapshot.rows);
            add(after, snapshot.length <= left ? snapshot.rows : null);
        }
        long freed = 0;
        for (Rows each : before) {
            long own = (each == of.rows ? 1 : 0)
                    + of.snapshots.stream()
                            .filter(snapshot -> snapshot.rows == each)
                            .count();
            freed += after.stream().noneMatch(kept -> kept == each) && each.owners == own ? 1 : 0;
        }
        return freed * TOKENS_OF_STATE;
    }

    /** Sets the state of a sequence to a saved state. */
    void restore(int sequence, long length, float[][] layers) {
        States of = get(sequence);
        Rows rows = take();
        for (int layer = 0; layer < layers.length; layer++) {
            System.arraycopy(layers[layer], 0, rows.layers[layer], 0, floats[layer]);
        }
        release(of.rows);
        of.rows = rows;
        Arrays.fill(of.lengths, length);
    }

    /**
     * Returns the lengths at which the states of a sequence are known, in ascending order; the last one is the present length.
     *
     * @throws IllegalArgumentException if layers have different lengths, after a step that failed
     */
    long[] lengths(int sequence) {
        States of = get(sequence);
        if (!of.isEven()) {
            throw Checks.fail("sequence " + sequence, "layers of lengths " + Arrays.toString(of.lengths), EVEN);
        }
        LongStream before = of.snapshots.stream().mapToLong(Snapshot::length).filter(each -> each < of.lengths[0]);
        return LongStream.concat(before, LongStream.of(of.lengths[0])).toArray();
    }

    /** Returns a copy of a layer's state at a snapshot or at the present length. */
    float[] stateAt(int layer, int sequence, long length) {
        States of = get(sequence);
        Rows rows = of.rows;
        if (of.lengths[layer] != length) {
            for (Snapshot snapshot : of.snapshots) {
                rows = snapshot.length == length ? snapshot.rows : rows;
            }
        }
        return rows == null ? new float[floats(layer)] : rows.layers[layer].clone();
    }
}
