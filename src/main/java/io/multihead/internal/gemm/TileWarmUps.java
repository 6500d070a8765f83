package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.MR;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.WarmUp;
import io.multihead.internal.kernel.HalfPanels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The warm-ups of the tiles of plain panels. */
final class TileWarmUps {
    /** {@link MicroKernel#tiles6}, or with few registers {@link MicroKernel#tiles5}. */
    static final WarmUp FULL_TILES = new WarmUp(new Trial() {
        @Override
        public int operations() {
            return 2 * MR * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                if (Lanes.FEW_REGISTERS) {
                    MicroKernel.tiles5(lengthFactor, a, 0, b, 0, DEPTH, CHAIN, c, 0, PANEL);
                } else {
                    MicroKernel.tiles6(lengthFactor, a, 0, b, 0, DEPTH, CHAIN, c, 0, PANEL);
                }
            }
        }
    });

    /** {@link MicroKernel#tilePair} and {@link MicroKernel#tile1}. */
    static final WarmUp ONE_ROW = new WarmUp(new Trial() {
        @Override
        public int operations() {
            return 6 * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                MicroKernel.tilePair(a, 0, b, 0, 0, lengthFactor * DEPTH, c, 0);
                MicroKernel.tile1(a, 0, b, 0, lengthFactor * DEPTH, CHAIN, c, 0);
            }
        }
    });

    private static final WarmUp FOUR_ROWS = new WarmUp(new Trial() {
        @Override
        public int operations() {
            return 2 * MicroKernel.MR_SMALL * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                MicroKernel.tile4(a, 0, b, 0, lengthFactor * DEPTH, CHAIN, c, 0, PANEL, HALF);
            }
        }
    });

    private static final WarmUp HALVES_BY_ONE_ROW = new WarmUp(new Trial() {
        @Override
        public int operations() {
            return 9 * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                HalfPanels.BF16.tile1(a, 0, b, 0, lengthFactor * DEPTH, CHAIN, c, 0);
            }
        }
    });

    private static final WarmUp HALVES_BY_FOUR_ROWS = new WarmUp(new Trial() {
        @Override
        public int operations() {
            return 15 * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                HalfPanels.BF16.tile4(a, 0, b, 0, lengthFactor * DEPTH, CHAIN, c, 0, PANEL);
            }
        }
    });

    private TileWarmUps() {}

    /** Returns the warm-up of the tile with a number of rows that reads panels of a format; INT8 tiles have no warm-up. */
    static WarmUp of(PanelFormat format, int rows) {
        if (format != PanelFormat.F32) {
            return rows == 1 ? HALVES_BY_ONE_ROW : HALVES_BY_FOUR_ROWS;
        }
        return rows == 1 ? ONE_ROW : rows == MR ? FULL_TILES : FOUR_ROWS;
    }

    /** Operands of a trial. */
    private abstract static class Trial implements WarmUp.Trial {
        /**
         * The length of a chain in trials, so that there are two chains: C2 omits the code for a second chain if it never
         * saw one.
         */
        static final int CHAIN = 16;

        static final int DEPTH = 2 * CHAIN;

        final float[] a = new float[MR * ROW];
        final float[] c = new float[MR * PANEL];
        final MemorySegment b = PanelMemory.segment(Arena.ofAuto(), (long) DEPTH * PANEL * Float.BYTES);
    }
}
