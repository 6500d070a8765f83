package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.OnnxAttention.AttentionMask;
import io.multihead.attention.OnnxAttention.Attributes;
import io.multihead.compute.Compute;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** One node with its inputs, computed with this library. */
final class OnnxAttentionCall {
    private static final Compute CPU = Compute.serial();
    private static final double U = 0x1p-24;
    private static final int BATCH = 2;

    private final SplittableRandom random = new SplittableRandom(14);
    private final int queries;
    private final int keys;
    private int heads = 4;
    private int keyValueHeads = 4;
    private int headDim = 8;
    private int valueDim = 8;
    private boolean threeAxes;
    private DType dtype = DType.F32;
    private int past;
    private boolean causal;
    private double scale = Double.NaN;
    private double softCap;
    private int left = -1;
    private int right = -1;
    private int @Nullable [] lengths;
    private int @Nullable [] maskDims;
    private boolean flags;
    private OnnxAttention.@Nullable Inputs inputs;
    private @Nullable Tensor query;
    private @Nullable Tensor presentKey;
    private @Nullable Tensor presentValue;

    private OnnxAttentionCall(int queries, int keys) {
        this.queries = queries;
        this.keys = keys;
    }

    static OnnxAttentionCall of(int queries, int keys) {
        return new OnnxAttentionCall(queries, keys);
    }

    OnnxAttentionCall heads(int query, int keyValue) {
        heads = query;
        keyValueHeads = keyValue;
        return this;
    }

    OnnxAttentionCall dims(int head, int value) {
        headDim = head;
        valueDim = value;
        return this;
    }

    OnnxAttentionCall threeAxes() {
        threeAxes = true;
        return this;
    }

    OnnxAttentionCall dtype(DType type) {
        dtype = type;
        return this;
    }

    OnnxAttentionCall past(int tokens) {
        past = tokens;
        return this;
    }

    OnnxAttentionCall causal() {
        causal = true;
        return this;
    }

    OnnxAttentionCall scale(double factor) {
        scale = factor;
        return this;
    }

    OnnxAttentionCall softCap(double cap) {
        softCap = cap;
        return this;
    }

    OnnxAttentionCall window(int before, int after) {
        left = before;
        right = after;
        return this;
    }

    OnnxAttentionCall lengths(int... perBatch) {
        lengths = perBatch;
        return this;
    }

    OnnxAttentionCall flags(int... dims) {
        maskDims = dims;
        flags = true;
        return this;
    }

    OnnxAttentionCall bias(int... dims) {
        maskDims = dims;
        return this;
    }

    void check() {
        for (ScoreStage stage : ScoreStage.values()) {
            OnnxAttention.Outputs expected = OnnxAttention.run(attributes(stage), inputs());
            Tensor output = allocate(dtype, heads, queries, valueDim);
            Tensor scores = Layout.GAPS.allocate(Arena.ofAuto(), dtype, BATCH, heads, queries, past + keys);
            AttentionOutputs outputs = AttentionOutputs.of(output).withScores(scores, stage);
            Attention.forward(CPU, query(), present(true), present(false), outputs, options(past + keys));
            checkOutput(expected, output);
            compare(flat(expected.scores()), Numbers.of(scores), scoreBound(stage), "mode " + stage.ordinal());
            compare(flat(expected.presentKey()), Numbers.of(present(true)), 0, "present key");
            compare(flat(expected.presentValue()), Numbers.of(present(false)), 0, "present value");
        }
    }

    void checkOutput(Tensor output) {
        checkOutput(OnnxAttention.run(attributes(ScoreStage.SCALED), inputs()), output);
    }

    private void checkOutput(OnnxAttention.Outputs expected, Tensor output) {
        double bound = largestValue() * (2 * scoreError() + (2 * (past + keys) + 24) * U);
        compare(flat(expected.output()), Numbers.of(output), bound, "output");
    }

    /** Returns the output for the given keys, without scores. */
    Tensor output(Tensor key, Tensor value, int count) {
        Tensor output = allocate(dtype, heads, queries, valueDim);
        Attention.forward(CPU, query(), key, value, output, options(count));
        return output;
    }

    Tensor output(KeyValueView view) {
        Tensor output = allocate(dtype, heads, queries, valueDim);
        // a view with a past or with lengths has the bottom-right alignment of the operator
        AttentionOptions options = AttentionOptions.CAUSAL;
        Attention.forward(CPU, query(), view, AttentionOutputs.of(output), options);
        return output;
    }

    private Attributes attributes(ScoreStage stage) {
        return new Attributes(causal, scale, softCap, stage.ordinal(), left, right);
    }

    /** Returns the attributes as options of this library. */
    private AttentionOptions options(int count) {
        Mask mask = lengths == null ? Mask.queryOffset(past) : Mask.keyLengths(longs(lengths));
        if (causal) {
            mask = mask.and(Mask.CAUSAL);
        }
        if (left >= 0 || right >= 0) {
            mask = mask.and(Mask.window(left < 0 ? Long.MAX_VALUE : left, right < 0 ? Long.MAX_VALUE : right));
        }
        AttentionMask given = inputs().mask();
        if (given != null) {
            Tensor padded = padded(given, count);
            mask = mask.and(flags ? Mask.keep(padded) : Mask.bias(padded));
        }
        AttentionOptions options =
                AttentionOptions.DEFAULT.withMask(mask).withScores(ScoreOptions.NONE.withSoftCap(softCap));
        return Double.isNaN(scale) ? options : options.withScale(scale);
    }

    /** Returns the mask as a tensor with all keys. Keys beyond the end of the mask are hidden. */
    private Tensor padded(AttentionMask mask, int count) {
        long[] dims = longs(mask.dims());
        int last = dims.length - 1;
        Tensor all = Layout.DENSE.allocate(Arena.ofAuto(), flags ? DType.I8 : dtype, with(dims, last, count));
        all.fill(flags ? 0 : Double.NEGATIVE_INFINITY);
        int[] at = {0};
        Numbers.fill(all.slice(last, 0, dims[last]), () -> mask.values()[at[0]++]);
        return all;
    }

    private static long[] with(long[] dims, int axis, long size) {
        long[] changed = dims.clone();
        changed[axis] = size;
        return changed;
    }

    private OnnxAttention.Inputs inputs() {
        if (inputs == null) {
            query = gaussian(heads, queries, headDim);
            presentKey = gaussian(keyValueHeads, past + keys, headDim);
            presentValue = gaussian(keyValueHeads, past + keys, valueDim);
            inputs = new OnnxAttention.Inputs(
                    array(query),
                    array(presentKey.slice(2, past, past + keys)),
                    array(presentValue.slice(2, past, past + keys)),
                    mask(),
                    past == 0 ? null : array(presentKey.slice(2, 0, past)),
                    past == 0 ? null : array(presentValue.slice(2, 0, past)),
                    lengths);
        }
        return inputs;
    }

    private @Nullable AttentionMask mask() {
        if (maskDims == null) {
            return null;
        }
        double[] values = new double[Arrays.stream(maskDims).reduce(1, (a, b) -> a * b)];
        Tensor one = Layout.HEAP.allocate(Arena.ofAuto(), dtype, 1);
        for (int i = 0; i < values.length; i++) {
            one.set(random.nextInt(4) == 0 ? Double.NEGATIVE_INFINITY : random.nextGaussian(), 0);
            values[i] = flags ? random.nextInt(3) == 0 ? 0 : 1 : one.get(0);
        }
        return new AttentionMask(values, maskDims, flags);
    }

    private Tensor query() {
        inputs();
        return query;
    }

    /** Returns the past and new keys or values in one tensor, which is the input of attention and the operator's output "present". */
    Tensor present(boolean key) {
        inputs();
        return key ? presentKey : presentValue;
    }

    private Tensor gaussian(int count, int tokens, int size) {
        return Numbers.gaussian(allocate(dtype, count, tokens, size), random, 0, 1);
    }

    /** Allocates {@code [batch, heads, tokens, size]}. For inputs of three axes it is a view of {@code [batch, tokens, heads * size]}. */
    private Tensor allocate(DType type, int count, int tokens, int size) {
        if (!threeAxes) {
            return Layout.DENSE.allocate(Arena.ofAuto(), type, BATCH, count, tokens, size);
        }
        Tensor packed = Layout.DENSE.allocate(Arena.ofAuto(), type, BATCH, tokens, (long) count * size);
        return packed.reshape(BATCH, tokens, count, size).permute(0, 2, 1, 3);
    }

    /** Returns the elements with a head axis. Tensors of three axes are split by the rule of the operator. */
    private double[][][][] array(Tensor tensor) {
        if (!threeAxes) {
            return nested(tensor);
        }
        int count = (int) tensor.dim(1);
        int size = (int) tensor.dim(3);
        double[][][] packed = new double[BATCH][(int) tensor.dim(2)][count * size];
        Tensor rows = tensor.permute(0, 2, 1, 3);
        for (int b = 0; b < BATCH; b++) {
            for (int t = 0; t < packed[b].length; t++) {
                packed[b][t] = Numbers.of(rows.slice(0, b, b + 1).slice(1, t, t + 1));
            }
        }
        return OnnxAttention.split(packed, count);
    }

    private static double[][][][] nested(Tensor tensor) {
        double[][][][] all = new double[(int) tensor.dim(0)][(int) tensor.dim(1)][(int) tensor.dim(2)][];
        for (int b = 0; b < all.length; b++) {
            for (int h = 0; h < all[b].length; h++) {
                for (int t = 0; t < all[b][h].length; t++) {
                    all[b][h][t] = Numbers.of(
                            tensor.slice(0, b, b + 1).slice(1, h, h + 1).slice(2, t, t + 1));
                }
            }
        }
        return all;
    }

    /**
     * Returns the error bound of an f32 score. Each of headDim products is rounded once, and f64 inputs add two roundings. Scale, eight
     * roundings of a cap, and reading and adding a bias follow.
     */
    private double scoreError() {
        double factor = Double.isNaN(scale) ? 1 / Math.sqrt(headDim) : scale;
        double products = headDim * largest(query()) * largest(present(true)) * factor;
        double largestBias = flags || inputs().mask() == null
                ? 0
                : Arrays.stream(inputs().mask().values())
                        .filter(Double::isFinite)
                        .map(Math::abs)
                        .max()
                        .orElse(0);
        return (headDim + 12) * U * (products + largestBias);
    }

    /**
     * Returns the error bound of a score or weight. A weight is at most 1, and has twice the error of a score as its relative error, and
     * the roundings of a sum over all keys.
     */
    private double scoreBound(ScoreStage stage) {
        return stage == ScoreStage.WEIGHTS ? 2 * scoreError() + (past + keys + 16) * U : scoreError();
    }

    private double largestValue() {
        return largest(present(false));
    }

    private static double largest(Tensor tensor) {
        return Arrays.stream(Numbers.of(tensor)).map(Math::abs).max().orElse(0);
    }

    private void compare(double[] expected, double[] actual, double bound, String what) {
        assertEquals(expected.length, actual.length, what);
        for (int i = 0; i < expected.length; i++) {
            double allowed = bound + (bound == 0 ? 0 : Tolerance.storage(expected[i], dtype) * (1 + 0x1p-10));
            boolean same = expected[i] == actual[i] || Math.abs(expected[i] - actual[i]) <= allowed;
            String message = what + " " + i + ": " + actual[i] + " for " + expected[i];
            assertTrue(same, message);
        }
    }

    private static double[] flat(double[][][][] nested) {
        return Arrays.stream(nested)
                .flatMap(Arrays::stream)
                .flatMap(Arrays::stream)
                .flatMapToDouble(Arrays::stream)
                .toArray();
    }

    private static long[] longs(int[] values) {
        return Arrays.stream(values).asLongStream().toArray();
    }
}
