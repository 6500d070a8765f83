package io.multihead.jmh.data;

import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.model.PackedLinear;
import java.lang.foreign.Arena;

/**
 * Linear maps with random weights. They are not in {@link Data}, which must compile with builds of the library without
 * packed maps.
 */
public final class RandomLinear {
    private RandomLinear() {}

    public static PackedLinear of(String format, int inputs, int outputs, int seed) {
        WeightFormat weights = WeightFormat.valueOf(format);
        return PackedLinear.of(PackedWeights.ofOutputRows(Arena.ofAuto(), Data.tensor(seed, outputs, inputs), weights));
    }
}
