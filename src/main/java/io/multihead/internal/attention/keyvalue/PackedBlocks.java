package io.multihead.internal.attention.keyvalue;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.Scratch;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A thread's cache of packed key blocks of one head group, kept from task to task. */
public final class PackedBlocks {
    private final Scratch memory;
    private KeyValueBlock[] blocks;
    private @Nullable KeyValueSource source;
    private int sequence;
    private int head;
    private long tag;
    private int headDim;
    private int valueDim;
    private int rows;
    private int mostHeads;
    private boolean keepsAll;
    /**
     * The first block that the sequence still has. Blocks are counted from this block, so their number does not grow as the sequence
     * slides.
     */
    private long firstBlock;

    /** Creates an empty cache. */
    public PackedBlocks(Scratch memory) {
        this.memory = memory;
        blocks = new KeyValueBlock[] {new KeyValueBlock(memory)};
    }

    /**
     * Sets the head group of the next task.
     *
     * @param newRows the number of query rows that will read each block
     * @param newKeepsAll whether all blocks are kept; otherwise each replaces the previous one
     * @param newMostHeads the largest number of heads whose rows are worth reading together: the number of tasks of this thread
     */
    public void bind(KeyValueSource newSource, HeadGroup group, int newRows, boolean newKeepsAll, int newMostHeads) {
        mostHeads = newMostHeads;
        source = newSource;
        sequence = group.sequence();
        head = group.keyValueHead();
        tag = group.tag();
        headDim = newSource.headDim();
        valueDim = newSource.valueDim();
        rows = newRows;
        keepsAll = newKeepsAll;
        firstBlock = newSource.firstKey(sequence) / AttentionBlocking.KEY_BLOCK;
    }

    /** Returns a located block. Keys and values that an earlier task has packed are still packed. */
    public KeyValueBlock block(long firstKey, int count) {
        KeyValueBlock block = blocks[0];
        if (keepsAll) {
            int index = (int) (firstKey / AttentionBlocking.KEY_BLOCK - firstBlock);
            while (blocks.length <= index) {
                blocks = Arrays.copyOf(blocks, blocks.length + 1);
                blocks[blocks.length - 1] = new KeyValueBlock(memory);
            }
            block = blocks[index];
        }
        block.bind(Checks.notNull(source, "source"), sequence, head, tag, headDim, valueDim);
        block.locate(firstKey, count, rows, mostHeads);
        return block;
    }

    /** Drops every reference to the caller's memory; packed panels stay. */
    public void release() {
        source = null;
        for (KeyValueBlock block : blocks) {
            block.release();
        }
    }
}
