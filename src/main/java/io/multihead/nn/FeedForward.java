package io.multihead.nn;

import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The position-wise feed-forward network (Vaswani et al. 2017, section 3.3): {@code linear2(drop(act(linear1(x))))}. Its parameters are
 * {@code linear1.weight} {@code [hidden, embedDim]}, {@code linear1.bias}, {@code linear2.weight} {@code [embedDim, hidden]} and
 * {@code linear2.bias}. {@link #gated} makes a network with a gate. Thread-safe in inference.
 */
public final class FeedForward extends ComposedLayer {
    private FeedForward(Sequence layers) {
        super(layers);
    }

    /**
     * {@return a network with given parameters}
     *
     * @param embedDim features of input and output
     * @param hidden features between the linear layers
     * @param activation the function between the linear layers
     * @param dropout dropout rate after the activation, in training
     * @param parameters gives the tensor of a name; shared, not copied
     * @throws IllegalArgumentException if a parameter is missing, a shape or element type does not fit, a size is below 1, or the
     *     rate is not a probability
     */
    public static FeedForward of(
            long embedDim,
            long hidden,
            Activation activation,
            double dropout,
            Function<String, @Nullable Tensor> parameters) {
        requireSettings(embedDim, hidden, activation, dropout);
        Checks.notNull(parameters, "parameters");
        Part first = new Part("linear1.", linear("linear1.", hidden, embedDim, parameters, false));
        Part second = new Part("linear2.", linear("linear2.", embedDim, hidden, parameters, false));
        Part middle = new Part("", layer(activation));
        return new FeedForward(
                dropout > 0
                        ? Sequence.of(first, middle, new Part("", Dropout.of(dropout)), second)
                        : Sequence.of(first, middle, second));
    }

    /**
     * {@return a network with a gate, {@code down_proj(drop(f(gate_proj(x)) up_proj(x)))} (Shazeer 2020), as in Llama with SiLU}. Its
     * parameters are {@code gate_proj.weight} and {@code up_proj.weight} {@code [hidden, embedDim]}, {@code down_proj.weight}
     * {@code [embedDim, hidden]}, and the {@code bias} of each layer that has one.
     *
     * @param embedDim features of input and output
     * @param hidden features between the linear layers
     * @param activation the function of the gate
     * @param dropout dropout rate after the gate, in training
     * @param parameters gives the tensor of a name, or null for a bias that does not exist, as {@code Map::get} does; tensors are shared,
     *     not copied
     * @throws IllegalArgumentException if a weight is missing, a shape or element type does not fit, a size is below 1, or the rate is
     *     not a probability
     */
    public static FeedForward gated(
            long embedDim,
            long hidden,
            Activation activation,
            double dropout,
            Function<String, @Nullable Tensor> parameters) {
        requireSettings(embedDim, hidden, activation, dropout);
        Checks.notNull(parameters, "parameters");
        Linear gate = linear("gate_proj.", hidden, embedDim, parameters, true);
        Linear up = linear("up_proj.", hidden, embedDim, parameters, true);
        Part first = new Part("", GatedLinear.of(gate, layer(activation), up));
        Part last = new Part("down_proj.", linear("down_proj.", embedDim, hidden, parameters, true));
        return new FeedForward(
                dropout > 0 ? Sequence.of(first, new Part("", Dropout.of(dropout)), last) : Sequence.of(first, last));
    }

    /**
     * {@return a network with new f32 parameters from PyTorch's distribution: weights and biases of each linear layer are uniform within
     * {@code 1 / sqrt(inputs)}, drawn with SplitMix64}
     *
     * @param arena owns the parameters; must stay open while the network is used
     * @param embedDim features of input and output
     * @param hidden features between the linear layers
     * @param activation the function between the linear layers
     * @param dropout dropout rate after the activation, in training
     * @param seed any number; the same one gives the same parameters
     * @throws IllegalArgumentException if a size is below 1 or the rate is not a probability
     */
    public static FeedForward initialize(
            Arena arena, long embedDim, long hidden, Activation activation, double dropout, long seed) {
        requireSettings(embedDim, hidden, activation, dropout);
        InitialTensors random = new InitialTensors(seed, Checks.notNull(arena, "arena"));
        return of(embedDim, hidden, activation, dropout, random.feedForward(embedDim, hidden)::get);
    }

    private static void requireSettings(long embedDim, long hidden, Activation activation, double dropout) {
        Checks.atLeast(embedDim, 1, "embedDim");
        Checks.atLeast(hidden, 1, "hidden");
        Checks.notNull(activation, "activation");
        Checks.probability(dropout, "dropout");
    }

    private static Linear linear(
            String prefix,
            long outputs,
            long inputs,
            Function<String, @Nullable Tensor> parameters,
            boolean isBiasOptional) {
        String weight = prefix + "weight";
        String name = prefix + "bias";
        Tensor bias = parameters.apply(name);
        return Linear.of(
                TensorChecks.requireParameter(parameters.apply(weight), weight, Shape.of(outputs, inputs)),
                bias == null && isBiasOptional ? null : TensorChecks.requireParameter(bias, name, Shape.of(outputs)));
    }

    private static Layer layer(Activation activation) {
        return switch (activation) {
            case RELU -> Relu.of();
            case GELU -> Gelu.erf();
            case GELU_TANH -> Gelu.tanh();
            case SILU -> Silu.of();
            case NONE -> throw Checks.fail("activation", "NONE", "expected a function");
        };
    }
}
