package io.multihead.internal.attention.backward;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.attention.mask.BlockSparseMask;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.kernel.Lanes;

/**
 * The columns of a tile, whole panels of query rows, from the first to the last row that sees any of the tile's keys. Other columns would
 * add only zeros. Belongs to one thread.
 */
final class SeenColumns {
    private int first;
    private int end;

    /**
     * Finds the columns that see any of {@code keys} keys from {@code firstKey} on. Tensors of the mask that hide single keys are not
     * examined.
     *
     * @return whether there are such columns
     */
    boolean find(BoundMask mask, HeadGroup group, PackedQueries queries, long firstKey, int keys) {
        int low = 0;
        while (low < queries.count && !sees(mask, group, queries, low, firstKey, keys)) {
            low++;
        }
        int high = queries.count;
        while (high > low && !sees(mask, group, queries, high - 1, firstKey, keys)) {
            high--;
        }
        first = low / PANEL * PANEL;
        end = Lanes.roundUp(high, PANEL);
        return high > low;
    }

    private static boolean sees(
            BoundMask mask, HeadGroup group, PackedQueries queries, int row, long firstKey, int keys) {
        if (Math.max(firstKey, queries.firsts[row]) >= Math.min(firstKey + keys, queries.ends[row])) {
            return false;
        }
        BlockSparseMask blocks = mask.blocks();
        long of = queries.firstRow + row;
        return !blocks.hides() || blocks.keepsAny(group.sequence(), group.head(of), group.query(of), firstKey, keys);
    }

    /** Returns the first column, a multiple of 32. */
    int first() {
        return first;
    }

    /** Returns the end of the columns, a multiple of 32. */
    int end() {
        return end;
    }
}
