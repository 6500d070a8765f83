package io.multihead.nn;

import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;

/** Draws fresh parameters from PyTorch's distributions, with SplitMix64 (Steele, Lea and Flood 2014). */
final class Initialiser {
    private long state;

    private Initialiser(long seed) {
        this.state = seed;
    }

    /** Every parameter of a configuration, by name. */
    static Map<String, Tensor> draw(Config config, long seed, Arena arena) {
        Initialiser random = new Initialiser(seed);
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        Parameters.shapes(config, Parameters.fusable(config)).forEach((name, shape) -> {
            Tensor tensor = Tensor.allocate(arena, DType.F32, shape);
            random.fill(tensor.reshape(shape.elements()), name, shape);
            drawn.put(name, tensor);
        });
        return drawn;
    }

    private void fill(Tensor flat, String name, Shape shape) {
        switch (name) {
            case Parameters.INPUT_BIAS, Parameters.OUTPUT_BIAS -> {
                // stays 0
            }
            case Parameters.KEY_BIAS, Parameters.VALUE_BIAS -> normal(flat, 1 / Math.sqrt(shape.dim(2)));
            case Parameters.OUTPUT_WEIGHT -> uniform(flat, 1 / Math.sqrt(shape.dim(1)));
            default -> uniform(flat, Math.sqrt(6.0 / (shape.dim(0) + shape.dim(1))));
        }
    }

    private void uniform(Tensor flat, double bound) {
        for (long i = 0; i < flat.dim(0); i++) {
            flat.set(bound * (2 * nextUnit() - 1), i);
        }
    }

    /** Box-Muller; {@link StrictMath} gives the same numbers on every machine. */
    private void normal(Tensor flat, double deviation) {
        for (long i = 0; i < flat.dim(0); i++) {
            double radius = StrictMath.sqrt(-2 * StrictMath.log(1 - nextUnit()));
            flat.set(deviation * radius * StrictMath.cos(2 * Math.PI * nextUnit()), i);
        }
    }

    /** Uniform in [0, 1), a multiple of 2<sup>-53</sup>. */
    private double nextUnit() {
        state += 0x9e3779b97f4a7c15L;
        long mixed = (state ^ state >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return ((mixed ^ mixed >>> 31) >>> 11) * 0x1p-53;
    }
}
