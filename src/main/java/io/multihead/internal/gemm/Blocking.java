package io.multihead.internal.gemm;

import io.multihead.internal.base.CacheSizes;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;

/**
 * Block sizes of the matrix multiplication {@code C[m, n] += A[m, k] B[k, n]} and the reasons for them, in the notation of Goto and van de
 * Geijn (2008) and BLIS. {@link LoopNest} has the loops.
 *
 * <p>{@link #KC} and {@link #CHAIN}, on which results depend, are the same on every machine. The sizes suit an L1 of 32 KiB and an L2 of
 * 1 MiB per core or more; {@link #WALK} and {@link #MC} follow the caches. There are other sizes for 16 vector registers, as on x86 without
 * AVX-512.
 */
public final class Blocking {
    /** Rows of C in a tile. */
    public static final int MR = MicroKernel.MR;

    /**
     * The largest number of rows of A in products that are bandwidth-bound, not compute-bound: one tile holds all rows, and segments of B are
     * traversed in memory order.
     */
    public static final int FEW_ROWS = MicroKernel.MR_SMALL;

    /**
     * The largest number of rows of A that read narrow weights in their stored form, four rows at a time. More rows read panels that are first
     * widened in scratch. Results do not depend on this number. 4096 x 4096 in Q8_0, two threads of Zen 4: 16 rows take 3.3 ms in registers and
     * 4.0 ms widened; 64 rows take 11.3 ms widened.
     */
    static final int ROWS_IN_REGISTERS = 4 * FEW_ROWS;

    /**
     * The largest number of rows that read weights in their stored form if rows are rounded to 8 bits, two rows at a time. 2048 x 2048 in Q4_0,
     * one thread of Zen 4: 8 rows take 0.61 ms in registers and 0.67 ms widened, 12 rows 0.92 and 0.91 ms, and 64 rows 4.9 and 4.2 ms.
     */
    static final int ROUNDED_ROWS_IN_REGISTERS = 3 * FEW_ROWS;

    /** Columns of one panel of B: two vectors of 16 lanes, four of 8, eight of 4. */
    public static final int NR = Lanes.PANEL;

    /**
     * Depth of a block: two chains of {@link MicroKernel#MAX_CHAIN} multiplications, which a tile adds in registers before the block's sum
     * is added to C. Therefore results and files of packed weights depend on it. With blocks of one chain, C is read and written twice as
     * often: products with 384 or 1536 rows of B took 4 % longer, and one text of 16 tokens with MiniLM 9 %.
     */
    public static final int KC = MicroKernel.MAX_DEPTH;

    private static final long KIB = 1L << 10;

    private static final CacheSizes CACHES = CacheSizes.ofThisMachine();

    /** The number of rows of a panel that all rows of A use before they use the next rows of the panel; see {@link #walk}. */
    public static final int WALK = walk(CACHES, Lanes.COUNT);

    /** Rows of A packed at a time; for each such group, all of B is read again from L3: {@link #rows}. A multiple of {@link #MR}. */
    public static final int MC = rows(CACHES.l2(), Lanes.FEW_REGISTERS);

    /**
     * Columns of a task. A is read once for this number of columns; reading it twice for 1024 columns costs 3 %. With 16 registers, where
     * multiplying B takes longer than reading it, the sums of fewer columns stay in L2: 1024 x 1024 at 73 instead of 67 GFLOP/s (Zen 3, L2
     * of 512 KiB), at 103 instead of 98 (Zen 5 with AVX2, L2 of 1 MiB).
     */
    public static final int NC = Lanes.FEW_REGISTERS ? 384 : 1024;

    /** The number of columns below which reading A more often costs more than packing B more often. */
    public static final int NC_MIN = 256;

    /**
     * Rows of a task: its sums, at most 792 KiB or 990 KiB, stay in or near L2 from one depth block to the next. A multiple of {@link #MR}.
     */
    public static final int TASK_ROWS = Lanes.FEW_REGISTERS ? 240 : 192;

    /**
     * The number of rows that replaces {@link #MC} if panels are narrower than f32 and are widened for these rows: all rows of a task, so that
     * each panel is widened once for them. The rows and a panel take 472 KiB of L2.
     */
    public static final int MC_NARROW = Lanes.FEW_REGISTERS ? 80 : TASK_ROWS;

    /**
     * The number of rows that replaces {@link #MC} if columns of A are contiguous in memory: all rows of a task, since each column is a separate
     * run, which begins with a wait for its first cache lines. 1536 rows times 2048 x 384 take 13.5 instead of 14.6 ms (Zen 5). Processors with
     * 16 registers use {@link #MC}, because this size was not measured on them.
     */
    public static final int MC_TRANSPOSED = Lanes.FEW_REGISTERS ? MC : TASK_ROWS;

    /**
     * The step of the number of rows of a task if C has rows for several tasks. The largest tasks have a multiple of this number of rows, and
     * tasks that were halved for more threads have a multiple of {@link Lanes#ROW_STEP}. With tiles of five rows, the largest tasks are whole
     * tiles, and only the last rows of C use tiles of four rows, which are slower: 1024 x 1024 takes 3 % less (Zen 3).
     */
    public static final int TASK_STEP = Lanes.FEW_REGISTERS ? MR * Lanes.ROW_STEP : Lanes.ROW_STEP;

    /** Elements of packed B that a thread keeps from task to task: 16 MiB. */
    public static final long KEPT_B = 1L << 22;

    /** The smallest number of tasks for each thread, so that other threads take over the work of a late thread. */
    public static final int TASKS_PER_THREAD = 2;

    /**
     * Multiplications in one chain if sums of chains are compensated, as in {@code P V}. The error of one chain of 256 was up to 32 units
     * for values with a nonzero mean. The error of chains of 64 was up to 13 units.
     */
    public static final int CHAIN = 64;

    /** The smallest depth at which one row of A reads two panels at a time, of 32 KiB each. */
    public static final int PAIR_DEPTH = 256;

    private Blocking() {}

    /**
     * Returns {@link #WALK}: half a panel if L1 has room for 32 KiB of it in addition to the rows in use but not for all of it, and L2 has 2 MiB
     * or more, which has a longer latency. A tile alone then runs at 186 instead of 168 GFLOP/s on an Intel Xeon, whose L1 has 48 KiB. Zen 5 has
     * the same L1 and an L2 of 1 MiB, and is up to 3 % slower with half a panel. In an L1 of 32 KiB, neither size stays. Narrower vectors read
     * one line of each row at a time, so a tile reads only half of a panel.
     *
     * @param lanes the lanes of a vector
     */
    static int walk(CacheSizes caches, int lanes) {
        boolean holdsHalf = caches.l1() >= 40 * KIB && caches.l1() < 80 * KIB;
        return lanes == NR / 2 && holdsHalf && caches.l2() >= 2048 * KIB ? MicroKernel.MAX_CHAIN : KC;
    }

    /**
     * Returns {@link #MC}: rows that take at most 204 KiB, which fit in L2 with the panel in use, 64 KiB; twice as many if L2 has 2 MiB,
     * because B is then read from L3 half as often: 1024 x 1024 at 144 instead of 135 GFLOP/s (an Intel Xeon). Zen 5, whose L2 has 1 MiB,
     * is within 1 % with either size. Tiles for 16 registers take 1 to 4 % longer with more rows.
     *
     * @param l2 bytes of L2; 0 if the system does not report the sizes
     */
    static int rows(long l2, boolean fewRegisters) {
        return fewRegisters ? 80 : l2 >= 2048 * KIB ? 192 : 96;
    }
}
