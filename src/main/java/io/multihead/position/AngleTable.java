package io.multihead.position;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.Lanes;
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
        width = Lanes.roundUp(interleaved ? 2 * frequencies.length : frequencies.length, PANEL);
        blocks = new AtomicReferenceArray<>((int) (LIMIT_BYTES / ((long) BLOCK * floats() * Float.BYTES)));
    }

    /** Floats of one position's cosines, and of its sines. */
    int width() {
        return width;
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
        int slot = (int) (position / BLOCK);
        float[] block = blocks.get(slot);
        if (block == null) {
            block = fill(slot);
        }
        System.arraycopy(block, (int) (position % BLOCK) * floats(), to, at, floats());
    }

    private float[] fill(int slot) {
        float[] block = new float[BLOCK * floats()];
        for (int i = 0; i < BLOCK; i++) {
            compute((long) slot * BLOCK + i, block, i * floats());
        }
        blocks.set(slot, block);
        return block;
    }

    /** The strict functions, so that every machine has the same bits. Padding stays: nothing rotated by it is written. */
    private void compute(long position, float[] to, int at) {
        for (int i = 0; i < frequencies.length; i++) {
            double angle = position * frequencies[i];
            float cos = (float) (factor * StrictMath.cos(angle));
            float sin = (float) (factor * StrictMath.sin(angle));
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
}
