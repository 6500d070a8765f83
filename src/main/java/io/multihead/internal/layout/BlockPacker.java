package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.tensor.BlockTensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/** Packs rows of quantized blocks into panels, without loss. Each row becomes a column of a panel. Belongs to one thread. */
public final class BlockPacker {
    private final BlockPanels format;
    private final BlockTensor tensor;
    private final int start;
    private final QuantizedBlock block;
    private final byte[] bytes;
    private final int[] fields;
    private final int[] words;

    /**
     * Creates a packer of the rows of a tensor, whose type must be the type of the format.
     *
     * @param start index of the tensor's first row, if it has only some of the rows of a matrix
     */
    public BlockPacker(BlockPanels format, BlockTensor tensor, int start) {
        this.format = format;
        this.tensor = tensor;
        this.start = start;
        block = format.reader();
        bytes = new byte[MicroKernel.MAX_DEPTH / format.rows() * tensor.type().bytes()];
        fields = new int[format.rows()];
        words = new int[MicroKernel.MAX_DEPTH / format.rows() * format.bytes() / Integer.BYTES];
    }

    /**
     * Packs one panel: {@code depth} elements, from {@code first} on, of at most 32 rows.
     *
     * @param row the first row, a multiple of 32
     * @param to memory of all panels of this depth
     */
    public void pack(int row, int rows, long first, int depth, PanelMemory to) {
        Arrays.fill(words, 0);
        for (int column = 0; column < rows; column++) {
            packColumn(row + column, first, depth, column);
        }
        int count = depth / format.rows() * format.bytes() / Integer.BYTES;
        to.storeWords(words, count, row * depth);
    }

    private void packColumn(int row, long first, int depth, int column) {
        int size = tensor.type().bytes();
        long from = tensor.offset() + (row - start) * tensor.rowBytes() + first / format.rows() * size;
        int blocks = depth / format.rows();
        MemorySegment.copy(tensor.memory(), ValueLayout.JAVA_BYTE, from, bytes, 0, blocks * size);
        int w0 = format.scaleWords(depth) + column;
        BitFields to = format.fields();
        for (int i = 0; i < blocks; i++) {
            block.pack(bytes, i * size, to, fields, words, w0);
            if (!block.isFinite()) {
                String place = "row " + row + ", column " + (first + i * format.rows());
                throw Checks.fail("blocks", "a scale that is not finite at " + place, "expected finite scales");
            }
            format.scales().store(i, column, block.d, block.dmin, block.small, words);
            w0 += fields.length / BitFields.ROWS * to.words() * PANEL;
        }
    }
}
