package io.multihead.position;

import io.multihead.internal.kernel.Rotation;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Cosines and sines per position, in the order in which the kernel reads them. Blocks of positions are filled when first
 * asked for and then kept, up to 64 MiB: 131,072 positions of 128 dims. Positions beyond are computed each time.
 *
 * <p>Thread-safe: blocks never change once published, and threads that race to fill one compute the same bits.
 */
final class AngleTable {
    /** Positions of one block: few, since a decoder's single step fills a whole one. */
    static final int BLOCK = 16;

    private static final long LIMIT_BYTES = 64L << 20;

    private final double[] frequencies;
    private final double factor;
    private final boolean interleaved;
    private final int width;
    private final AtomicReferenceArray<float[]> blocks;

    AngleTable(double[] frequencies, double factor, boolean interleaved) {
        this.frequencies = frequencies;
        this.factor = factor;
        this.interleaved = interleaved;
        width = interleaved ? 2 * frequencies.length : frequencies.length;
        blocks = new AtomicReferenceArray<>((int) (LIMIT_BYTES / ((long) BLOCK * floats() * Float.BYTES)));
    }

    /** Floats of one position. */
    int floats() {
        return 2 * width;
    }

    /** The first position that is computed each time. */
    long limit() {
        return (long) BLOCK * blocks.length();
    }

    /** Writes the cosines and sines of a position to {@code to}. */
    void load(long position, float[] to, int at) {
        if (position >= limit()) {
            compute(position, to, at);
            return;
        }
        System.arraycopy(block(position), (int) (position % BLOCK) * floats(), to, at, floats());
    }

    /** Rotates a row in place. */
    void turn(long position, float[] row, int at) {
        if (position < limit()) {
            turn(row, at, block(position), (int) (position % BLOCK) * floats(), 1f);
            return;
        }
        for (int i = 0; i < frequencies.length; i++) {
            int first = at + (interleaved ? 2 * i : i);
            int second = first + (interleaved ? 1 : frequencies.length);
            Rotation.pair(row, first, second, cos(position, i), sin(position, i));
        }
    }

    /** Rotates a row by angles that {@link #load} wrote, times {@code direction}, in place. */
    void turn(float[] row, int at, float[] angles, int a0, float direction) {
        if (interleaved) {
            Rotation.neighbours(row, at, frequencies.length, angles, a0, direction);
        } else {
            Rotation.halves(row, at, frequencies.length, angles, a0, direction);
        }
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
        for (int i = 0; i < frequencies.length; i++) {
            float cos = cos(position, i);
            float sin = sin(position, i);
            if (interleaved) {
                to[at + 2 * i] = cos;
                to[at + 2 * i + 1] = cos;
                to[at + width + 2 * i] = -sin;
                to[at + width + 2 * i + 1] = sin;
            } else {
                to[at + i] = cos;
                to[at + width + i] = sin;
            }
        }
    }

    /** The strict functions, so that every machine has the same bits. */
    private float cos(long position, int pair) {
        return (float) (factor * StrictMath.cos(position * frequencies[pair]));
    }

    private float sin(long position, int pair) {
        return (float) (factor * StrictMath.sin(position * frequencies[pair]));
    }
}
