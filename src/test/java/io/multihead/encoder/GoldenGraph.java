package io.multihead.encoder;

import io.multihead.support.OnnxMessage;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** An ONNX graph to which operations are added, and the random weights that it reads. The class needs only the JDK. */
final class GoldenGraph {
    /** The version of the operator set, which includes {@code LayerNormalization}. */
    private static final int OPSET = 17;

    private static final int IR = 8;

    private final OnnxMessage graph = new OnnxMessage();
    private final SplittableRandom random;
    private final Map<String, Weight> weights = new LinkedHashMap<>();
    private int results;

    /** The values and the shape of a weight. */
    @SuppressWarnings("ArrayRecordComponent")
    record Weight(float[] values, int... dims) {}

    GoldenGraph(long seed) {
        random = new SplittableRandom(seed);
    }

    Map<String, Weight> weights() {
        return weights;
    }

    /** Adds a weight of normally distributed numbers and returns its name. */
    String weight(String name, double mean, double deviation, int... dims) {
        float[] values = new float[Arrays.stream(dims).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(mean, deviation);
        }
        weights.put(name, new Weight(values, dims));
        graph.message(5, OnnxMessage.tensor(name, values, dims));
        return name;
    }

    /** Adds constants that are not weights. */
    String floats(float... values) {
        String name = "floats" + results++;
        graph.message(5, OnnxMessage.tensor(name, values, values.length));
        return name;
    }

    String longs(long... values) {
        String name = "longs" + results++;
        graph.message(5, OnnxMessage.longs(name, values));
        return name;
    }

    String apply(String operation, String... inputs) {
        return apply(operation, List.of(), inputs);
    }

    /** Adds an operation and returns the name of its result. */
    String apply(String operation, List<OnnxMessage> attributes, String... inputs) {
        String result = operation + results++;
        OnnxMessage node = OnnxMessage.node("/" + result, operation, result, List.of(inputs));
        attributes.forEach(attribute -> node.message(5, attribute));
        graph.message(1, node);
        return result;
    }

    String add(String a, String b) {
        return apply("Add", a, b);
    }

    String multiply(String a, String b) {
        return apply("Mul", a, b);
    }

    String reshape(String x, long... dims) {
        return apply("Reshape", x, longs(dims));
    }

    String permute(String x, int... axes) {
        return apply("Transpose", List.of(OnnxMessage.integers("perm", axes)), x);
    }

    /** Selects an index of an axis and removes the axis. */
    String select(String x, int axis, long index) {
        return apply(
                "Squeeze", apply("Gather", List.of(OnnxMessage.integer("axis", axis)), x, longs(index)), longs(axis));
    }

    String slice(String x, int axis, long from, long end) {
        return apply("Slice", x, longs(from), longs(end), longs(axis));
    }

    String concat(int axis, String... parts) {
        return apply("Concat", List.of(OnnxMessage.integer("axis", axis)), parts);
    }

    /** Multiplies by a weight {@code [outputs, inputs]} in PyTorch's layout, without a bias. */
    String linear(String name, String x, int outputs, int inputs, double gain) {
        String weight = weight(name + ".weight", 0, gain / Math.sqrt(inputs), outputs, inputs);
        return apply("MatMul", x, permute(weight, 1, 0));
    }

    /** Adds a layer normalization, whose bias is 0 if {@code hasBias} is false. */
    String norm(String name, String x, int dim, float epsilon, boolean hasBias) {
        String weight = weight(name + ".weight", 1, 0.2, dim);
        String bias = hasBias ? weight(name + ".bias", 0, 0.2, dim) : floats(new float[dim]);
        return apply("LayerNormalization", List.of(OnnxMessage.real("epsilon", epsilon)), x, weight, bias);
    }

    /** Adds the erf form of GELU. */
    String gelu(String x) {
        String erf = apply("Erf", multiply(x, floats((float) Math.sqrt(0.5))));
        return multiply(multiply(x, floats(0.5f)), add(erf, floats(1)));
    }

    String silu(String x) {
        return multiply(x, apply("Sigmoid", x));
    }

    /** Adds the positions of the tokens of {@code input_ids}, {@code [tokens]}, as f32. */
    String positions() {
        String count = apply("Gather", apply("Shape", "input_ids"), longs(1));
        String scalar = apply("Squeeze", count);
        String range = apply("Range", apply("Squeeze", longs(0)), scalar, apply("Squeeze", longs(1)));
        return apply("Cast", List.of(OnnxMessage.integer("to", 1)), range);
    }

    /** Adds cosines and sines {@code [tokens, headDim]} of a rotation that pairs the halves of a head. */
    List<String> angles(String positions, int headDim, double theta) {
        float[] frequencies = new float[headDim / 2];
        for (int i = 0; i < frequencies.length; i++) {
            frequencies[i] = (float) (1 / Math.pow(theta, 2.0 * i / headDim));
        }
        String angles = multiply(apply("Unsqueeze", positions, longs(1)), floats(frequencies));
        String both = concat(1, angles, angles);
        return List.of(apply("Cos", both), apply("Sin", both));
    }

    /** Adds self-attention of {@code [1, tokens, dim]} up to the output projection. Query, key and value are in one product. */
    String attention(String projected, int heads, int headDim, List<String> angles, String mask) {
        String all = permute(reshape(projected, 1, -1, 3, heads, headDim), 2, 0, 3, 1, 4);
        String query = rotate(select(all, 0, 0), headDim, angles);
        String key = rotate(select(all, 0, 1), headDim, angles);
        String scores =
                multiply(apply("MatMul", query, permute(key, 0, 1, 3, 2)), floats((float) (1 / Math.sqrt(headDim))));
        String masked = mask.isEmpty() ? scores : add(scores, mask);
        String shares = apply("Softmax", List.of(OnnxMessage.integer("axis", 3)), masked);
        String context = apply("MatMul", shares, select(all, 0, 2));
        return reshape(permute(context, 0, 2, 1, 3), 1, -1, (long) heads * headDim);
    }

    private String rotate(String x, int headDim, List<String> angles) {
        int half = headDim / 2;
        String turned = concat(3, apply("Neg", slice(x, 3, half, headDim)), slice(x, 3, 0, half));
        return add(multiply(x, angles.get(0)), multiply(turned, angles.get(1)));
    }

    /** Names a result as an output. */
    void output(String name, String result) {
        graph.message(1, OnnxMessage.node("/" + name, "Identity", name, List.of(result)));
        graph.message(12, value(name, 1));
    }

    private static OnnxMessage value(String name, int type) {
        OnnxMessage shape = new OnnxMessage();
        if (type == 7) {
            shape.message(1, new OnnxMessage().number(1, 1));
            shape.message(1, new OnnxMessage().text(2, "tokens"));
        }
        OnnxMessage tensor = new OnnxMessage().number(1, type);
        if (type == 7) {
            tensor.message(2, shape);
        }
        return new OnnxMessage().text(1, name).message(2, new OnnxMessage().message(1, tensor));
    }

    /** Returns the model, whose inputs {@code [1, tokens]} of 64-bit integers have these names. */
    byte[] model(String... inputs) {
        for (String input : inputs) {
            graph.message(11, value(input, 7));
        }
        graph.text(2, "golden");
        return new OnnxMessage()
                .number(1, IR)
                .message(7, graph)
                .message(8, new OnnxMessage().text(1, "").number(2, OPSET))
                .bytes();
    }
}
