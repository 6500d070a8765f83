package io.multihead.support;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.nn.attention.TestParameters;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.Map;
import java.util.Random;

/** One random call of a layer, with all data to compute it a second time with {@link NaiveLayer}. */
public final class LayerCase {
    /** The sizes of a call. */
    public record Sizes(
            int batch, int queries, int keys, int kvHeads, int group, int headDim, int valueDim, int embedDim) {}

    /** Options of the layer and layouts of its memory. */
    public record Switches(
            boolean bias,
            boolean keyValueBias,
            boolean zeroKey,
            boolean batchFirst,
            boolean self,
            boolean otherWidths,
            boolean strided,
            DType dtype) {}

    public enum Padding {
        NONE,
        DROP,
        DROP_SHARED,
        BIAS
    }

    public enum Scores {
        NONE,
        DROP_2D,
        DROP_3D,
        BIAS_2D,
        BIAS_3D
    }

    public enum Causal {
        NONE,
        LAYER_BOTTOM_RIGHT,
        CALL_TOP_LEFT
    }

    /** The masks of the call. */
    public record Masks(Padding padding, Scores scores, Causal causal) {
        public static final Masks NONE = new Masks(Padding.NONE, Scores.NONE, Causal.NONE);
    }

    public final Sizes sizes;
    public final Switches switches;
    public final MultiHeadConfig config;
    public final Map<String, Tensor> parameters;
    public final MultiHeadInputs inputs;
    private final Masks masks;
    private final Random random;
    /** The key padding as in PyTorch, or null. */
    private Tensor padding;
    /** The score mask or bias as in PyTorch, or null. */
    public Tensor scores;

    public LayerCase(Sizes sizes, Switches switches, Masks masks, long seed) {
        this.sizes = sizes;
        this.switches = switches;
        this.masks = masks;
        this.random = new Random(seed);
        this.config = configure();
        this.parameters = TestParameters.of(config, random);
        this.inputs = draw();
    }

    private MultiHeadConfig configure() {
        MultiHeadConfig made = MultiHeadConfig.of(sizes.embedDim, sizes.kvHeads * sizes.group, sizes.headDim)
                .withKeyValueHeads(sizes.kvHeads)
                .withValueDim(sizes.valueDim)
                .withBias(switches.bias)
                .withKeyValueBias(switches.keyValueBias)
                .withZeroKey(switches.zeroKey)
                .withBatchFirst(switches.batchFirst);
        if (switches.otherWidths && !switches.self) {
            made = made.withInputDims(sizes.embedDim + 1L, sizes.embedDim + 3L);
        }
        return masks.causal == Causal.LAYER_BOTTOM_RIGHT ? made.withOptions(AttentionOptions.CAUSAL) : made;
    }

    private MultiHeadInputs draw() {
        Tensor query = tokens(sizes.queries, sizes.embedDim);
        MultiHeadInputs drawn = switches.self
                ? MultiHeadInputs.of(query)
                : MultiHeadInputs.of(
                        query, tokens(sizes.keys, config.keyInputDim()), tokens(sizes.keys, config.valueInputDim()));
        long heads = (long) sizes.batch * config.queryHeads();
        padding = switch (masks.padding) {
            case NONE -> null;
            case DROP -> TestTensors.flags(random, sizes.batch, keys());
            case DROP_SHARED -> TestTensors.flags(random, keys());
            case BIAS -> TestTensors.bias(random, sizes.batch, keys());
        };
        scores = switch (masks.scores) {
            case NONE -> null;
            case DROP_2D -> TestTensors.flags(random, sizes.queries, keys());
            case DROP_3D -> TestTensors.flags(random, heads, sizes.queries, keys());
            case BIAS_2D -> TestTensors.bias(random, sizes.queries, keys());
            case BIAS_3D -> TestTensors.bias(random, heads, sizes.queries, keys());
        };
        Mask mask = masks.causal == Causal.CALL_TOP_LEFT ? Mask.CAUSAL_TOP_LEFT : Mask.NONE;
        mask = padding == null ? mask : mask.and(PyTorchMasks.padding(padding));
        return drawn.withMask(scores == null ? mask : mask.and(PyTorchMasks.scores(scores, config.queryHeads())));
    }

    public int keys() {
        return switches.self ? sizes.queries : sizes.keys;
    }

    public int allKeys() {
        return keys() + (switches.keyValueBias ? 1 : 0) + (switches.zeroKey ? 1 : 0);
    }

    public MultiHeadAttention layer() {
        return MultiHeadAttention.of(config, parameters::get);
    }

    /** Runs the layer with new outputs of the case's element type, including all weights. */
    public MultiHeadOutputs run(Compute cpu) {
        int heads = config.queryHeads();
        MultiHeadOutputs outputs = MultiHeadOutputs.of(empty(lead(sizes.queries, sizes.embedDim)))
                .withAverageWeights(empty(sizes.batch, sizes.queries, allKeys()))
                .withHeadWeights(empty(sizes.batch, heads, sizes.queries, allKeys()));
        layer().forward(cpu, inputs, outputs);
        return outputs;
    }

    public NaiveLayer.Result expected() {
        return expected(parameters);
    }

    /** Returns the result of the definition with other parameters. */
    public NaiveLayer.Result expected(Map<String, Tensor> others) {
        return new NaiveLayer(config, others)
                .forward(batched(inputs.query()), batched(inputs.key()), batched(inputs.value()), this::bias);
    }

    /** Returns the view {@code [batch, tokens, features]}. */
    public Tensor batchFirst(Tensor tensor) {
        return switches.batchFirst ? tensor : tensor.permute(1, 0, 2);
    }

    private double[][][] batched(Tensor tensor) {
        return TestTensors.cube(batchFirst(tensor));
    }

    private double bias(int b, int h, int i, int j) {
        int last = masks.causal == Causal.CALL_TOP_LEFT ? i : i + keys() - sizes.queries;
        double sum = masks.causal != Causal.NONE && j > last ? Double.NEGATIVE_INFINITY : 0;
        if (padding != null) {
            sum += added(padding, padding.rank() == 1 ? padding.get(j) : padding.get(b, j));
        }
        if (scores != null) {
            long index = (long) b * config.queryHeads() + h;
            sum += added(scores, scores.rank() == 2 ? scores.get(i, j) : scores.get(index, i, j));
        }
        return sum;
    }

    private static double added(Tensor mask, double element) {
        return mask.dtype().isFloating() ? element : element != 0 ? Double.NEGATIVE_INFINITY : 0;
    }

    private Tensor tokens(long count, long features) {
        return TestTensors.random(random, floating(), switches.strided, lead(count, features));
    }

    private Tensor empty(long... dims) {
        return TestTensors.guarded(floating(), switches.strided, dims);
    }

    /** Returns the element type of inputs and outputs, which must be a floating-point type. */
    private DType floating() {
        return switches.dtype.isFloating() ? switches.dtype : DType.F32;
    }

    private long[] lead(long tokens, long features) {
        return switches.batchFirst
                ? new long[] {sizes.batch, tokens, features}
                : new long[] {tokens, sizes.batch, features};
    }
}
