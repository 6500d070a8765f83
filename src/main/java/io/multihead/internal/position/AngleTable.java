package io.multihead.internal.position;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Cosines and sines per position, in the order in which the kernel reads them. They are either copied from tables, all positions together,
 * or computed from frequencies, in blocks of positions that are filled at the first request and then kept, up to 64 MiB: 131,072
 * positions of 128 dims, half as many with interleaved pairs. Further positions are computed each time.
 *
 * <p>Thread-safe: blocks never change after they were published, and threads that fill the same block compute the same bits.
 */
public final class AngleTable {
    /** The number of positions of one block. It is small, since a single step of a decoder fills a whole block. */
    static final int BLOCK = 16;
    /** Positions stay below 2^53, up to which f64 has every integer. */
    static final long MAX_POSITIONS = 1L << 53;

    private static final long LIMIT_BYTES = 64L << 20;

    private final AngleLayout layout;
    private final double[] frequencies;
    private final double factor;
    private final boolean identityAtZero;
    private final long positions;
    private final AtomicReferenceArray<float[]> blocks;
    private final int[] allPairs;

    /** Computes angles from frequencies; cosines and sines are multiplied by {@code factor}. */
    public AngleTable(double[] frequencies, double factor, boolean interleaved) {
        this.frequencies = frequencies;
        this.factor = factor;
        identityAtZero = factor == 1;
        layout = new AngleLayout(frequencies.length, interleaved);
        positions = MAX_POSITIONS;
        blocks = new AtomicReferenceArray<>((int) (LIMIT_BYTES / ((long) BLOCK * floats() * Float.BYTES)));
        allPairs = allPairs();
    }

    /** Copies tables {@code [positions, pairs]} of any floating-point type and strides. */
    public AngleTable(Tensor cos, Tensor sin, boolean interleaved) {
        frequencies = new double[0];
        factor = 1;
        identityAtZero = false;
        layout = new AngleLayout((int) cos.dim(1), interleaved);
        requireHeap(cos, layout);
        positions = cos.dim(0);
        blocks = new AtomicReferenceArray<>((int) Math.ceilDiv(positions, (long) BLOCK));
        allPairs = allPairs();
        copy(cos, sin);
    }

    /** Fails if a copy of both tables needs more memory than the JVM can ever have. */
    private static void requireHeap(Tensor cos, AngleLayout layout) {
        long most = Runtime.getRuntime().maxMemory() / ((long) layout.floats() * Float.BYTES);
        if (cos.dim(0) > Math.min(most, Checks.MAX_ARRAY_LENGTH)) {
            throw Checks.fail(
                    "cos",
                    "shape " + cos.shape(),
                    "expected at most " + most + " positions in a heap of "
                            + Runtime.getRuntime().maxMemory() + " bytes (-Xmx), which holds a copy");
        }
    }

    private int[] allPairs() {
        int[] all = new int[layout.pairs()];
        for (int pair = 0; pair < all.length; pair++) {
            all[pair] = pair;
        }
        return all;
    }

    private void copy(Tensor cos, Tensor sin) {
        Packer packer = new Packer(new Scratch());
        int ld = Lanes.roundUp(layout.pairs(), Lanes.PANEL);
        float[] cosines = new float[BLOCK * ld];
        float[] sines = new float[BLOCK * ld];
        for (int slot = 0; slot < blocks.length(); slot++) {
            long first = (long) slot * BLOCK;
            int rows = (int) Math.min(BLOCK, positions - first);
            long cosAt = cos.offset() + first * cos.stride(0);
            long sinAt = sin.offset() + first * sin.stride(0);
            packer.read(cos, cosAt, cos.stride(0), cos.stride(1), rows, layout.pairs(), cosines, 0, ld);
            packer.read(sin, sinAt, sin.stride(0), sin.stride(1), rows, layout.pairs(), sines, 0, ld);
            float[] block = new float[rows * floats()];
            for (int row = 0; row < rows; row++) {
                layout.putAll(block, row * floats(), cosines, sines, row * ld);
            }
            blocks.set(slot, block);
        }
    }

    AngleLayout layout() {
        return layout;
    }

    /** Returns the number of positions that have angles. */
    long positions() {
        return positions;
    }

    /** Returns whether position 0 leaves a token unchanged, which is unknown for tables. */
    boolean isIdentityAtZero() {
        return identityAtZero;
    }

    private int floats() {
        return layout.floats();
    }

    /** Returns the first position that is computed each time. */
    private long limit() {
        return (long) BLOCK * blocks.length();
    }

    /** Writes the cosines and sines of a position to {@code to}. */
    void load(long position, float[] to, int at) {
        if (position >= limit()) {
            compute(position, to, at);
            return;
        }
        System.arraycopy(block(position), start(position), to, at, floats());
    }

    /** Writes the cosines and sines of some pairs, a part of the output of {@link #load(long, float[], int)}. */
    void load(long position, int[] pairs, float[] to, int at) {
        if (position >= limit()) {
            for (int pair : pairs) {
                layout.put(to, at, pair, cos(position, pair), sin(position, pair));
            }
            return;
        }
        float[] block = block(position);
        int start = start(position);
        for (int pair : pairs) {
            layout.put(to, at, pair, layout.cos(block, start, pair), layout.sin(block, start, pair));
        }
    }

    void rotate(long position, float[] row, int at) {
        if (position < limit()) {
            layout.rotate(row, at, block(position), start(position), 1f);
        } else {
            rotate(position, allPairs, row, at);
        }
    }

    /** Rotates some pairs of a row in place. */
    void rotate(long position, int[] pairs, float[] row, int at) {
        if (position >= limit()) {
            for (int pair : pairs) {
                layout.rotatePair(row, at, pair, cos(position, pair), sin(position, pair));
            }
            return;
        }
        float[] block = block(position);
        int start = start(position);
        for (int pair : pairs) {
            layout.rotatePair(row, at, pair, layout.cos(block, start, pair), layout.sin(block, start, pair));
        }
    }

    private int start(long position) {
        return (int) (position % BLOCK) * floats();
    }

    private float[] block(long position) {
        int slot = (int) (position / BLOCK);
        float[] block = blocks.get(slot);
        return block == null ? fill(slot) : block;
    }

    private float[] fill(int slot) {
        float[] block = new float[BLOCK * floats()];
        for (int i = 0; i < BLOCK; i++) {
            compute((long) slot * BLOCK + i, block, i * floats());
        }
        blocks.set(slot, block);
        return block;
    }

    private void compute(long position, float[] to, int at) {
        for (int pair = 0; pair < frequencies.length; pair++) {
            layout.put(to, at, pair, cos(position, pair), sin(position, pair));
        }
    }

    /** Returns the cosine of a pair's angle, times the factor. The strict functions give the same bits on every machine. */
    private float cos(long position, int pair) {
        return (float) (factor * StrictMath.cos(position * frequencies[pair]));
    }

    private float sin(long position, int pair) {
        return (float) (factor * StrictMath.sin(position * frequencies[pair]));
    }
}
