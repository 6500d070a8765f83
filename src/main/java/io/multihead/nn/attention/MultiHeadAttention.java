package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.TensorArena;
import io.multihead.nn.Layer;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The multi-head attention layer (Vaswani et al. 2017, section 3.2.2): {@code concat(head_1, ..., head_h) W_out} with {@code head_i =
 * attention(query W_q,i, key W_k,i, value W_v,i)}, with every option of PyTorch's {@code nn.MultiheadAttention} and Keras's {@code
 * MultiHeadAttention}, and with query heads that share key and value heads (Ainslie et al. 2023).
 *
 * <p>The layer does not own its parameters: it keeps the tensors that it was given, and the first inference packs the weights into new memory. The
 * memory of the parameters must stay alive, and a caller that changes it must call {@link #parametersChanged}. Inputs and parameters may have any
 * floating-point element types and any strides; arithmetic is f32.
 *
 * <p>Thread-safe: one layer serves any number of threads.
 */
public final class MultiHeadAttention implements Layer {
    private final LayerParameters parameters;
    private volatile @Nullable LayerPipeline pipeline;

    private MultiHeadAttention(LayerParameters parameters) {
        this.parameters = parameters;
    }

    /**
     * {@return a layer with given parameters, which it requests by their names in PyTorch: {@code in_proj_weight}, or instead {@code
     * q_proj_weight}, {@code k_proj_weight} and {@code v_proj_weight}; {@code out_proj.weight}; and, if the configuration has them, {@code
     * in_proj_bias}, {@code out_proj.bias}, {@code bias_k}, {@code bias_v}}. Weights are {@code [out, in]} as in PyTorch; the fused one
     * holds the rows for query, key and value in this order.
     *
     * @param config the configuration of the layer
     * @param parameters gives the parameter of a name, or null if there is none, such as {@code file::find} of a {@link
     *     io.multihead.format.Safetensors} and {@code Map::get}. It is also called for parameters that the configuration lacks, and must then return
     *     null. The layer shares the memory of the tensors
     * @throws IllegalArgumentException if a parameter is missing, has another shape or is I8
     */
    public static MultiHeadAttention of(MultiHeadConfig config, Function<String, @Nullable Tensor> parameters) {
        Checks.notNull(config, "config");
        return new MultiHeadAttention(LayerParameters.of(config, Checks.notNull(parameters, "parameters")));
    }

    /**
     * {@return a layer with new f32 parameters, drawn from PyTorch's distributions: input projections Xavier-uniform (Glorot and Bengio 2010; a fused
     * weight as one matrix), key and value biases Xavier-normal, the output projection uniform within {@code 1 / sqrt(inputs)}, all other biases 0}.
     * The numbers depend only on the seed and the configuration: SplitMix64 (Steele et al. 2014), one parameter after another in the order of
     * {@link #parameters()}. They differ from the numbers that PyTorch draws with the same seed.
     *
     * @param arena owns the parameters; must stay open while the layer is used
     * @param config the configuration of the layer
     * @param seed any number
     */
    public static MultiHeadAttention initialize(Arena arena, MultiHeadConfig config, long seed) {
        Checks.notNull(config, "config");
        return of(config, InitialWeights.draw(config, seed, Checks.notNull(arena, "arena"))::get);
    }

    /** {@return the configuration} */
    public MultiHeadConfig config() {
        return parameters.config();
    }

    /**
     * {@return the parameters under PyTorch's names, in PyTorch's order: the same tensor objects that the layer was given; an unmodifiable
     * map that shares the parameters' memory}
     */
    @Override
    public Map<String, Tensor> parameters() {
        return parameters.byName();
    }

    /** {@return the number of elements of all parameters} */
    public long parameterCount() {
        return parameters.byName().values().stream()
                .mapToLong(tensor -> tensor.shape().elements())
                .sum();
    }

    /**
     * Returns 1, for the batch axis, unless a mask or a score modifier treats the sequences differently or the axes are in
     * another order.
     *
     * @param input the shape of an input that the layer can take
     * @return 0 or 1
     */
    @Override
    public int independentAxes(Shape input) {
        MultiHeadConfig config = config();
        int rank = Checks.notNull(input, "input").rank();
        boolean batchComesFirst = config.batchFirst() && config.attentionAxes().isEmpty() && rank > 2;
        boolean shared = config.options().mask().isSharedByBatch()
                && config.options().scores().modifier() == null;
        return batchComesFirst && shared ? 1 : 0;
    }

    /**
     * Computes self-attention: query, key and value are one tensor, projected by one multiplication.
     *
     * @param cpu threads and scratch memory
     * @param x {@code [batch, tokens, embedDim]}, or as {@link MultiHeadInputs} allows; named {@code query} in errors
     * @param y {@code [batch, tokens, outputShape...]}, any floating-point type and strides, overlapping no other tensor; named
     *     {@code output} in errors
     * @throws IllegalArgumentException if a shape or element type does not fit, before anything is written
     */
    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        forward(cpu, MultiHeadInputs.of(x), MultiHeadOutputs.of(y));
    }

    /**
     * Computes attention of queries to keys and values, with the masks of this call added to the configuration's. A query
     * that sees no key has attention value 0 (its output is the output bias) and weights 0, never NaN.
     *
     * @param cpu threads and scratch memory
     * @param inputs query, key, value and masks
     * @param outputs the tensors of the results; memory of the caller that overlaps no input, parameter or other output
     * @throws IllegalArgumentException if a shape or element type does not fit or an output overlaps something, before anything is written
     */
    public void forward(Compute cpu, MultiHeadInputs inputs, MultiHeadOutputs outputs) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(inputs, "inputs");
        Checks.notNull(outputs, "outputs");
        LayerPipeline packed = pipeline;
        if (packed == null) {
            packed = LayerPipeline.packed(parameters);
            pipeline = packed;
        }
        try (TensorArena arena = TensorArena.ofCall(cpu)) {
            packed.run(cpu, arena, inputs, outputs);
        }
    }

    @Override
    public List<Tensor> buffers() {
        return config().options().mask().tensors();
    }

    @Override
    public Shape outputShape(Shape input) {
        return AxisLayout.of(config(), Checks.notNull(input, "input")).output(config(), input);
    }

    /**
     * Computes self-attention as in training, with the configuration's dropout; see the other method. Unlike the other method, it
     * refuses a configuration with a score modifier immediately, since otherwise backward would fail only after the layers that
     * follow this one.
     */
    @Override
    public MultiHeadPass record(Compute cpu, Tensor x, Tensor y, long seed) {
        BackwardChecks.requireDerivative(config());
        return record(cpu, MultiHeadInputs.of(x), MultiHeadOutputs.of(y), seed);
    }

    /**
     * Computes the outputs as in training and keeps the values for backward. Weights are read without packing, and attention weights are dropped with
     * the configuration's rate.
     *
     * @param cpu threads and scratch memory, for backward too
     * @param inputs query, key, value and masks; must stay alive and unchanged until the pass is closed
     * @param outputs written, and must stay alive until the pass is closed; attention weights are returned without dropout
     * @param seed the seed of dropout
     * @return the pass, for one caller at a time
     * @throws IllegalArgumentException if a shape or element type does not fit or an output overlaps something, before anything is written
     */
    public MultiHeadPass record(Compute cpu, MultiHeadInputs inputs, MultiHeadOutputs outputs, long seed) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(inputs, "inputs");
        return MultiHeadPass.record(cpu, parameters, inputs, Checks.notNull(outputs, "outputs"), seed);
    }

    @Override
    public void parametersChanged() {
        pipeline = null;
    }

    /**
     * Returns the layer with only some of its heads: copies of the parameters without the rows and columns of the other heads. The
     * new layer is smaller and faster than a layer with masked heads. Slopes, sinks and mask tensors of the configuration are
     * reduced to these heads ({@link io.multihead.attention.AttentionOptions#selectHeads}).
     *
     * @param arena owns the copies
     * @param heads the heads to keep, each at most once, in the desired order
     * @return the smaller layer; its output equals the output of this layer with the other heads masked, except for rounding
     * @throws IllegalArgumentException if no head is kept, a head does not exist or is repeated, heads share keys, or the configuration has a
     *     modifier of scores, which would see other head indices
     */
    public MultiHeadAttention keepHeads(Arena arena, int... heads) {
        return new MultiHeadAttention(HeadExtraction.keep(parameters, Checks.notNull(arena, "arena"), heads));
    }
}
