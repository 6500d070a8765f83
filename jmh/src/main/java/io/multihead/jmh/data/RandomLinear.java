package io.multihead.jmh.data;

import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.model.PackedLinear;
import java.lang.foreign.Arena;

/** Linear maps with random weights; not a part of {@link Data}, which compiles for builds of the library that have no packed maps. */
public final class RandomLinear {
    private RandomLinear() {}

    public static PackedLinear of(String format, int inputs, int outputs, int seed) {
        WeightFormat weights = WeightFormat.valueOf(format);
        return PackedLinear.of(PackedWeights.ofOutputRows(Arena.ofAuto(), Data.tensor(seed, outputs, inputs), weights));
    }
}
