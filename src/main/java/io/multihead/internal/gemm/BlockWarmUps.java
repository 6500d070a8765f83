package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.base.WarmUp;
import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.BlockScales;
import io.multihead.internal.kernel.BlockTiles;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.kernel.NibbleTiles;
import io.multihead.internal.layout.BlockPanels;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The warm-ups of the tiles of one format of quantized blocks, with the kernel that widens its fields. */
final class BlockWarmUps {
    /**
     * The warm-ups of each format. They are created at the first use of the format, since the operands of the trials take 80 KB until
     * the JVM ends.
     */
    private static final AtomicReferenceArray<BlockWarmUps> MADE =
            new AtomicReferenceArray<>(PanelFormat.values().length);

    /** The warm-ups of rounded rows, created when such rows are first multiplied. */
    private static final class Rounded {
        static final WarmUp ROW = new WarmUp(new RoundedTrial(1));
        static final WarmUp TWO_ROWS = new WarmUp(new RoundedTrial(2));
        static final WarmUp MANY_ROWS = new WarmUp(new RoundedTrial(NibbleTiles.TILE_ROWS));

        private Rounded() {}
    }

    private final WarmUp oneRow;
    private final WarmUp fourRows;
    private final WarmUp fullTiles;

    private BlockWarmUps(BlockPanels format) {
        oneRow = new WarmUp(new OneRow(format));
        fourRows = new WarmUp(new FourRows(format));
        fullTiles = new WarmUp(new FullTiles(format));
    }

    static BlockWarmUps of(PanelFormat format) {
        BlockWarmUps made = MADE.get(format.ordinal());
        if (made == null) {
            MADE.compareAndSet(format.ordinal(), null, new BlockWarmUps(format.blocks()));
            made = MADE.get(format.ordinal());
        }
        return made;
    }

    /**
     * Returns whether all tiles that some rows use are compiled. Their warm-ups run concurrently, because sequential warm-ups would take
     * the sum of their times.
     *
     * @param isMany whether the rows are in full tiles
     */
    boolean isOver(int rows, boolean isMany) {
        if (isMany) {
            return fullTiles.isOver();
        }
        boolean one = rows % MicroKernel.MR_SMALL != 1 || oneRow.isOver();
        boolean four = rows == 1 || fourRows.isOver();
        return one && four;
    }

    /**
     * Returns whether all tiles that some rounded rows use are compiled.
     *
     * @param isMany whether the rows are in tiles of four rows; otherwise they are in tiles of two and one
     */
    static boolean isOverForRounded(int rows, boolean isMany) {
        if (isMany) {
            return Rounded.MANY_ROWS.isOver();
        }
        boolean one = rows % 2 == 0 || Rounded.ROW.isOver();
        boolean two = rows == 1 || Rounded.TWO_ROWS.isOver();
        return one && two;
    }

    /** Operands of a trial. */
    private abstract static class Trial implements WarmUp.Trial {
        static final int DEPTH = 2 * BitFields.ROWS;
        final BlockPanels format;
        final BitFields.Rows rows = new BitFields.Rows();
        final float[] scales = new float[BlockScales.FLOATS_OF_PANEL];
        final float[] c = new float[ROW_STEP * PANEL];
        final MemorySegment panels;

        Trial(BlockPanels format) {
            this.format = format;
            rows.set(new float[ROW_STEP * ROW], new float[ROW_STEP * BitFields.SUMS]);
            panels = PanelMemory.segment(Arena.ofAuto(), 2L * BitFields.ROWS * PANEL);
        }

        /** Adds the mins of some rows, or of none. */
        final void mins(int lengthFactor, int count, int vectorStride) {
            if (format.scales().hasMins()) {
                int mins = DEPTH / format.fields().chain();
                BitFields.addMins(rows, 0, scales, 0, mins, c, 0, PANEL, lengthFactor * count, vectorStride);
            }
        }
    }

    private static final class OneRow extends Trial {
        OneRow(BlockPanels format) {
            super(format);
        }

        @Override
        public int operations() {
            return 7 * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                format.fields().tile1(rows, 0, panels, 0, scales, 0, lengthFactor * DEPTH, c, 0);
                mins(lengthFactor, MicroKernel.MR_SMALL, HALF); // one row has too few iterations for the JVM's limit
            }
        }
    }

    private static final class FourRows extends Trial {
        FourRows(BlockPanels format) {
            super(format);
        }

        @Override
        public int operations() {
            return 16 * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                format.fields().tile4(rows, 0, panels, 0, scales, 0, lengthFactor * DEPTH, c, 0, PANEL);
                mins(lengthFactor, MicroKernel.MR_SMALL, HALF);
            }
        }
    }

    private static final class FullTiles extends Trial {
        private final MemorySegment wide = PanelMemory.segment(Arena.ofAuto(), (long) DEPTH * PANEL * Float.BYTES);

        FullTiles(BlockPanels format) {
            super(format);
        }

        @Override
        public int operations() {
            return (2 * BlockTiles.ROWS + 3 * PANEL / COUNT) * DEPTH;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            int chain = format.fields().chain();
            for (int call = 0; call < calls; call++) {
                format.fields().widen(panels, 0, lengthFactor * DEPTH, wide);
                BlockTiles.tiles6(lengthFactor * BlockTiles.ROWS, rows, wide, scales, 0, chain, DEPTH, c, 0, PANEL);
                mins(lengthFactor, BlockTiles.ROWS, COUNT);
            }
        }
    }

    private static final class RoundedTrial implements WarmUp.Trial {
        private static final int DEPTH = 2 * BitFields.ROWS;
        private final int tileRows;
        private final NibbleTiles.Rows rows = new NibbleTiles.Rows();
        private final float[] scales = new float[BlockScales.FLOATS_OF_PANEL];
        private final float[] c = new float[ROW_STEP * PANEL];
        private final MemorySegment panels = PanelMemory.segment(Arena.ofAuto(), DEPTH * PANEL / 2L);
        private final MemorySegment wide = PanelMemory.segment(Arena.ofAuto(), DEPTH * PANEL * 2L);

        RoundedTrial(int tileRows) {
            this.tileRows = tileRows;
            rows.set(new int[ROW_STEP * NibbleTiles.Rows.INTS], new float[ROW_STEP * BitFields.SUMS]);
        }

        @Override
        public int operations() {
            return switch (tileRows) {
                case 1 -> 4 * DEPTH;
                case 2 -> 7 * DEPTH;
                default -> (13 + 2 * PANEL / COUNT) * DEPTH;
            };
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                int depth = lengthFactor * DEPTH;
                switch (tileRows) {
                    case 1 -> NibbleTiles.tile1(rows, 0, panels, 0, scales, 0, depth, c, 0);
                    case 2 -> NibbleTiles.tile2(rows, 0, panels, 0, scales, 0, depth, c, 0, PANEL);
                    default -> {
                        NibbleTiles.widen(panels, 0, depth, wide);
                        int count = lengthFactor * tileRows;
                        NibbleTiles.tiles4(count, rows, 0, wide, scales, 0, DEPTH, c, 0, PANEL);
                    }
                }
            }
        }
    }
}
