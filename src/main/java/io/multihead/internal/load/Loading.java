package io.multihead.internal.load;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.SlabArena;
import org.jspecify.annotations.Nullable;

/**
 * A model that is being loaded: who packs, what is changed of its weights, and their memory.
 *
 * @param cpu packs
 * @param arena owns all memory of the model's weights, mapped and packed, until the model closes it
 * @param format of matrices and of the table of words; null as they are stored
 * @param eightBitInputs whether products with weights of 4 bits round their inputs
 */
public record Loading(
        Compute cpu, SlabArena arena, @Nullable WeightFormat format, boolean eightBitInputs) {
    /** Begins with an arena of its own, for weights as they are stored. */
    public static Loading of(Compute cpu) {
        return of(cpu, null);
    }

    /** Begins with an arena of its own, for weights that are rounded to a format. */
    public static Loading of(Compute cpu, @Nullable WeightFormat format) {
        return new Loading(cpu, new SlabArena(), format, false);
    }

    /** Returns this with inputs of 4-bit weights in 8 bits, or not. */
    public Loading withEightBitInputs(boolean rounded) {
        return new Loading(cpu, arena, format, rounded);
    }

    /** Frees all memory of the weights. Another time it does nothing. */
    public void close() {
        synchronized (arena) { // which other records of this may share
            if (arena.scope().isAlive()) {
                arena.close();
            }
        }
    }
}
