package io.multihead.internal.layout;

import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.BitFields;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Copies weights in their stored form between panels of the same format, some columns of a block of rows at a time. Nothing is rounded again.
 * In formats without blocks, each row is a block.
 */
public final class BlockCopy {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

    private final PanelFormat format;
    /**
     * The number of rows of words in a block with two columns to a word. They are at the start of a panel or after the rows of the previous
     * block.
     */
    private final int halves;
    /** The number of rows of words after the {@link #halves}, with one column to a word. */
    private final int words;
    /** The number of rows of words with one column to a word that follow the {@link #halves} and {@link #words} of all blocks. */
    private final int fields;

    /** Creates a copier of a format of weights. */
    public BlockCopy(PanelFormat format) {
        this.format = format;
        if (format.isQuantized()) {
            BlockPanels panels = format.blocks();
            halves = panels.scales().halves();
            words = (panels.scales().words() - halves * HALF) / PANEL;
            fields = panels.rows() / BitFields.ROWS * panels.fields().words();
        } else {
            halves = format == PanelFormat.F32 ? 0 : 1;
            words = 1 - halves;
            fields = 0;
        }
    }

    /**
     * One column of a block of rows, or the first of several columns.
     *
     * @param panels all panels of a depth block
     * @param depth rows of the depth block
     * @param block index of the block in the depth block
     * @param column number of the column
     */
    public record Place(PanelMemory panels, int depth, int block, int column) {}

    /** Copies columns of a block, all of them within one panel in both matrices; other columns keep their contents. */
    public void copy(Place from, Place to, int columns) {
        long read = block(from);
        long write = block(to);
        for (int i = 0; i < halves; i++) {
            copyHalves(from, read + i * HALF * WORD, to, write + i * HALF * WORD, columns);
        }
        copyWords(from, read + halves * HALF * WORD, to, write + halves * HALF * WORD, words, columns);
        copyWords(from, fields(from), to, fields(to), fields, columns);
    }

    private static void copyWords(Place from, long read, Place to, long write, int rows, int columns) {
        MemorySegment source = from.panels.segment();
        MemorySegment target = to.panels.segment();
        long readAt = read + from.column % PANEL * WORD;
        long writeAt = write + to.column % PANEL * WORD;
        for (int i = 0; i < rows; i++) {
            MemorySegment.copy(source, readAt + i * PANEL * WORD, target, writeAt + i * PANEL * WORD, columns * WORD);
        }
    }

    private static void copyHalves(Place from, long read, Place to, long write, int columns) {
        MemorySegment source = from.panels.segment();
        MemorySegment target = to.panels.segment();
        if (columns == PANEL) {
            MemorySegment.copy(source, read, target, write, HALF * WORD);
            return;
        }
        for (int i = 0; i < columns; i++) {
            int column = from.column % PANEL + i;
            int word = source.get(INT, read + column % HALF * WORD);
            setHalf(target, write, to.column % PANEL + i, word >>> shift(column) & 0xffff);
        }
    }

    private static void setHalf(MemorySegment target, long row, int column, int bits) {
        long offset = row + column % HALF * WORD;
        int others = target.get(INT, offset) & ~(0xffff << shift(column));
        target.set(INT, offset, others | bits << shift(column));
    }

    /** Returns the position of the bits of a panel's column in a word of two columns: the first half of the columns has the high bits. */
    private static int shift(int column) {
        return column < HALF ? 16 : 0;
    }

    /** Returns the byte at which the scales of a block begin, or at which the row begins in a format without blocks. */
    private long block(Place at) {
        return panel(at) + (long) at.block * wordsOfBlock() * WORD;
    }

    private long fields(Place at) {
        int blocks = at.depth / format.blockRows();
        return panel(at) + ((long) blocks * wordsOfBlock() + (long) at.block * fields * PANEL) * WORD;
    }

    private int wordsOfBlock() {
        return halves * HALF + words * PANEL;
    }

    private long panel(Place at) {
        return format.offset(at.column / PANEL * format.panelSize(at.depth));
    }
}
