package io.multihead.internal.attention;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;

/**
 * Rows of f32, {@link io.multihead.internal.kernel.Lanes#ROW} floats apart, of one head or of several adjacent heads. If the heads of a
 * token follow each other in memory, as in {@code (batch, tokens, heads, dim)}, rows of up to 256 elements are read together. When heads
 * were read one by one, 128 bytes of every 1536, the copies of 128 tokens took a fifth of the time of attention, since such reads are not
 * prefetched. Belongs to one thread.
 */
public final class HeadRows {
    private final Scratch memory;
    private float[] rows = new float[0];
    /** The tag of the first head in the array. */
    private long first;

    private int heads;
    private int column;

    /** Creates an empty buffer. */
    public HeadRows(Scratch memory) {
        this.memory = memory;
    }

    /**
     * Returns the number of heads, from a given one on, that can be read as one row per token: 1 if they are not adjacent in memory, or not
     * whole panels.
     *
     * @param tensor {@code [batch, heads, tokens, dim]}
     */
    public static int adjacent(Tensor tensor, long head) {
        long dim = tensor.dim(3);
        boolean beside = dim > 0 && dim % PANEL == 0 && tensor.stride(1) == dim && tensor.stride(3) == 1;
        return beside ? (int) Math.max(1, Math.min(AttentionBlocking.DIM_CHUNK / dim, tensor.dim(1) - head)) : 1;
    }

    /** Moves to a head of {@code dim} elements, and returns whether the array already contains its rows. */
    public boolean moveTo(long tag, int dim) {
        boolean held = tag >= first && tag < first + heads;
        column = held ? (int) (tag - first) * dim : 0;
        return held;
    }

    /** Returns the array for new rows, which contains no head until {@link #hold} is called. */
    public float[] reserve(int count) {
        heads = 0;
        rows = memory.atLeast(rows, count * ROW);
        return rows;
    }

    /** Keeps the rows for later tasks if they belong to several heads; the {@code count} heads have consecutive tags. */
    public void hold(long tag, int count) {
        first = tag;
        heads = count > 1 ? count : 0;
    }

    /** Drops the rows, which were changed and must not be used by later tasks. */
    public void drop() {
        heads = 0;
    }

    public float[] rows() {
        return rows;
    }

    /** Returns the first column of the head to which {@link #moveTo} moved; 0 if the array did not contain it. */
    public int column() {
        return column;
    }
}
