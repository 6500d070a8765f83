package io.multihead.nn;

import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
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

    /** The parameters of a block: linear layers uniform within {@code 1 / sqrt(inputs)}, biases too; norms 1 and 0. */
    static Map<String, Tensor> block(TransformerBlock.Config config, long seed, Arena arena) {
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        draw(config.attention(), seed, arena).forEach((name, tensor) -> drawn.put("self_attn." + name, tensor));
        Initialiser random = new Initialiser(~seed);
        long[] sizes = {config.embedDim(), config.feedForward(), config.embedDim()};
        for (int i = 0; i < 2; i++) {
            double bound = 1 / Math.sqrt(sizes[i]);
            Tensor weight = Tensor.allocate(arena, DType.F32, Shape.of(sizes[i + 1], sizes[i]));
            Tensor bias = Tensor.allocate(arena, DType.F32, Shape.of(sizes[i + 1]));
            random.uniform(weight.reshape(-1), bound);
            random.uniform(bias, bound);
            drawn.put("linear" + (i + 1) + ".weight", weight);
            drawn.put("linear" + (i + 1) + ".bias", bias);
        }
        for (String norm : new String[] {"norm1.", "norm2."}) {
            float[] ones = new float[(int) config.embedDim()];
            Arrays.fill(ones, 1f);
            Tensor weight = Tensor.allocate(arena, DType.F32, Shape.of(config.embedDim()));
            Tensor.of(ones, config.embedDim()).copyTo(weight);
            drawn.put(norm + "weight", weight);
            drawn.put(norm + "bias", Tensor.allocate(arena, DType.F32, Shape.of(config.embedDim())));
        }
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
