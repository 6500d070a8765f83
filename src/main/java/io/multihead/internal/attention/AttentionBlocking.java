package io.multihead.internal.attention;

import io.multihead.internal.base.Checks;
import io.multihead.internal.gemm.Blocking;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;

/**
 * All block sizes of attention, each with its reason; the block sizes of the matrix multiplication are in {@link Blocking}.
 *
 * <p>Results depend on {@link #KEY_BLOCK}, {@link #DIM_CHUNK}, {@link #VALUE_CHAIN} and {@link #KEY_SPLIT}, gradients also on {@link
 * #BACKWARD_QUERIES} and {@link #BACKWARD_KEYS}, which determine where chains of additions begin. They do not depend on
 * {@link #QUERY_TILE}, {@link #TASK_ROWS}, {@link #TASK_ROWS_REPACKED}, {@link #WIDE_DIM} and {@link #PACKED_FLOATS}, which may change.
 */
public final class AttentionBlocking {
    /**
     * Query rows of a tile, which are multiplied by one key block at a time. They are whole tiles of the micro-kernel, and their scores, 48
     * x 256, stay in L1 and L2. With micro-kernel tiles of five rows, attention with 40 query rows takes 1 to 2 % less time than with 48
     * (2048 tokens, Zen 3).
     */
    public static final int QUERY_TILE = Lanes.FEW_REGISTERS ? 40 : 48;

    /** Keys of one block, aligned at key 0: the longest chain of multiply-adds. */
    public static final int KEY_BLOCK = MicroKernel.MAX_CHAIN;

    /** Elements of a query, key or value that are multiplied at a time, also the longest chain, and stored as one chunk of panels. */
    public static final int DIM_CHUNK = MicroKernel.MAX_CHAIN;

    /**
     * The largest number of elements of a query, key or value: an {@code int} counts the elements of a packed block of keys or values, the
     * longest buffer.
     */
    public static final int MAX_DIM = Checks.MAX_ARRAY_LENGTH / KEY_BLOCK / Lanes.PANEL * Lanes.PANEL;

    /** The same limit in backward, whose longest buffers, K^T and dQ^T, have a row of floats for each element. */
    public static final int BACKWARD_MAX_DIM = Checks.MAX_ARRAY_LENGTH / Lanes.ROW / Lanes.ROW_STEP * Lanes.ROW_STEP;

    /** If a query or a value has more elements, a task is one tile, because an {@code int} could not count the buffers of more rows. */
    public static final int WIDE_DIM = 1 << 20;

    /**
     * Keys of one chain of P V. For values with a mean, one chain of 256 had errors of up to 32 units, and chains of 64 had errors of up to
     * 13.
     */
    public static final int VALUE_CHAIN = Blocking.CHAIN;

    /**
     * Keys of one split. Each split is a separate softmax, and the states are merged in order, in every call: therefore the bits are the
     * same whether splits run on one thread or on many, in a prefill or in a decode step.
     */
    public static final int KEY_SPLIT = 4 * KEY_BLOCK;

    /** Maximum query rows of one task: their softmax state and a key block fit in L2. */
    public static final int TASK_ROWS = 4 * QUERY_TILE;

    /** Maximum query rows of one task if keys must be packed again for each task: packing is then a thirtieth of the work. */
    public static final int TASK_ROWS_REPACKED = 10 * QUERY_TILE;

    /** Maximum floats of packed keys and values that a thread keeps from task to task: 16 MiB. */
    public static final long PACKED_FLOATS = 1L << 22;

    /** Query rows of one block of backward. */
    public static final int BACKWARD_QUERIES = 256;

    /** Keys of one block of backward: with 256 query rows, the whole working set of a pair of blocks stays in L2. */
    public static final int BACKWARD_KEYS = 128;

    /** Keys of one tile of score gradients in backward. */
    public static final int BACKWARD_KEY_TILE = 64;

    /** Matrix multiplications per pair of blocks in backward if each pair is computed once, by a task for a whole head group. */
    public static final int MULTIPLICATIONS_ONCE = 5;

    /**
     * Matrix multiplications per pair of blocks in backward if each pair is computed twice, by a task of a key block and by a task of a
     * query block.
     */
    public static final int MULTIPLICATIONS_TWICE = 7;

    private AttentionBlocking() {}
}
