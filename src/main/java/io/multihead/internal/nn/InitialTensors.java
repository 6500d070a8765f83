package io.multihead.internal.nn;

import io.multihead.internal.layout.Positions;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Draws new f32 parameters from the distributions of PyTorch's layers, one after another from one sequence of random numbers.
 * The numbers depend only on the seed and on the order of the calls. Not thread-safe.
 */
public final class InitialTensors {
    private final SplitMix64 random;
    private final Arena arena;

    /**
     * Begins a sequence of parameters.
     *
     * @param arena owns them
     */
    public InitialTensors(long seed, Arena arena) {
        this.random = new SplitMix64(seed);
        this.arena = arena;
    }

    /** Returns uniformly distributed numbers in {@code [-bound, bound)}. */
    public Tensor uniform(double bound, Shape shape) {
        Tensor tensor = Tensor.allocate(arena, DType.F32, shape);
        for (long i = 0; i < shape.elements(); i++) {
            Positions.set(tensor, bound * (2 * random.nextUnit() - 1), i);
        }
        return tensor;
    }

    /** Returns normally distributed numbers (Box-Muller); {@link StrictMath} gives the same numbers on every machine. */
    public Tensor normal(double deviation, Shape shape) {
        Tensor tensor = Tensor.allocate(arena, DType.F32, shape);
        for (long i = 0; i < shape.elements(); i++) {
            double radius = StrictMath.sqrt(-2 * StrictMath.log(1 - random.nextUnit()));
            Positions.set(tensor, deviation * radius * StrictMath.cos(2 * Math.PI * random.nextUnit()), i);
        }
        return tensor;
    }

    /** Returns a tensor whose elements are all equal to one number. */
    public static Tensor constant(double value, Shape shape, Arena arena) {
        Tensor tensor = Tensor.allocate(arena, DType.F32, shape);
        tensor.fill(value);
        return tensor;
    }

    /**
     * Returns {@code weight [outputs, inputs]} and {@code bias [outputs]} of a linear layer under a prefix: uniform within
     * {@code 1 / sqrt(inputs)}, as PyTorch's {@code nn.Linear} draws both.
     */
    public Map<String, Tensor> linear(String prefix, long inputs, long outputs) {
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        drawn.put(prefix + "weight", linearPart(inputs, Shape.of(outputs, inputs)));
        drawn.put(prefix + "bias", linearPart(inputs, Shape.of(outputs)));
        return drawn;
    }

    /** Returns the weight or the bias of a linear layer with {@code inputs} inputs. */
    public Tensor linearPart(long inputs, Shape shape) {
        return uniform(1 / Math.sqrt(inputs), shape);
    }

    /** Returns the parameters {@code linear1.*} and {@code linear2.*} of a feed-forward network. */
    public Map<String, Tensor> feedForward(long embedDim, long hidden) {
        Map<String, Tensor> drawn = linear("linear1.", embedDim, hidden);
        drawn.putAll(linear("linear2.", hidden, embedDim));
        return drawn;
    }

    /** Returns the parameters of a feed-forward network with a gate, which has no biases. */
    public Map<String, Tensor> gatedFeedForward(long embedDim, long hidden) {
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        drawn.put("gate_proj.weight", linearPart(embedDim, Shape.of(hidden, embedDim)));
        drawn.put("up_proj.weight", linearPart(embedDim, Shape.of(hidden, embedDim)));
        drawn.put("down_proj.weight", linearPart(hidden, Shape.of(embedDim, hidden)));
        return drawn;
    }

    /** Returns {@code weight} of ones and {@code bias} of zeros of a normalization under a prefix. */
    public static Map<String, Tensor> norm(String prefix, long features, Arena arena) {
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        drawn.put(prefix + "weight", constant(1, Shape.of(features), arena));
        drawn.put(prefix + "bias", Tensor.zeros(arena, DType.F32, features));
        return drawn;
    }
}
