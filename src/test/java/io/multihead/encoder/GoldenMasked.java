package io.multihead.encoder;

import io.multihead.support.OnnxMessage;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The head of a masked language model with random weights for MiniLM, whose decoder is the table of word embeddings. The program that
 * writes the expected weights of words and the test that compares them use this class, which needs only the JDK.
 */
public final class GoldenMasked {
    /** The golden texts that have vectors. */
    public static final int[] TEXTS = {3, 5, 17};

    static final int DIM = 384;
    private static final int WORDS = 30522;
    /** The bias, with which most words have no weight. */
    private static final float BIAS = -3;

    private static final String TABLE = "embeddings.word_embeddings.weight";
    private static final float EPSILON = 1e-12f;

    private GoldenMasked() {}

    /** Returns the weights of the head by their names in transformers, without the prefix of the head. */
    static Map<String, float[]> head() {
        SplittableRandom random = new SplittableRandom(47);
        Map<String, float[]> head = new LinkedHashMap<>();
        head.put("transform.dense.weight", random(random, DIM * DIM, 0, 2 / Math.sqrt(DIM)));
        head.put("transform.dense.bias", random(random, DIM, 0, 0.1));
        head.put("transform.LayerNorm.weight", random(random, DIM, 1, 0.1));
        head.put("transform.LayerNorm.bias", random(random, DIM, 0, 0.1));
        head.put("bias", random(random, WORDS, BIAS, 0.1));
        return head;
    }

    private static float[] random(SplittableRandom random, int length, double mean, double deviation) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) random.nextGaussian(mean, deviation);
        }
        return values;
    }

    /**
     * Returns the bytes that make MiniLM's ONNX file a sparse encoder if they are appended to it. The output is {@code weights},
     * {@code [1, words]}.
     */
    public static byte[] graph() {
        OnnxMessage graph = new OnnxMessage();
        head().forEach((name, values) -> graph.message(5, constant(name, values)));
        Map.of("root", (float) Math.sqrt(2), "half", 0.5f, "one", 1f, "epsilon", EPSILON)
                .forEach((name, value) -> graph.message(5, constant(name, value)));
        add(graph, "Transpose", "denseT", List.of("transform.dense.weight"), OnnxMessage.integers("perm", 1, 0));
        add(graph, "MatMul", "product", List.of("last_hidden_state", "denseT"));
        add(graph, "Add", "x", List.of("product", "transform.dense.bias"));
        add(graph, "Div", "quotient", List.of("x", "root"));
        add(graph, "Erf", "erf", List.of("quotient"));
        add(graph, "Add", "erf1", List.of("erf", "one"));
        add(graph, "Mul", "gelu2", List.of("x", "erf1"));
        add(graph, "Mul", "gelu", List.of("gelu2", "half"));
        add(graph, "ReduceMean", "mean", List.of("gelu"), OnnxMessage.integers("axes", 2));
        add(graph, "Sub", "centered", List.of("gelu", "mean"));
        add(graph, "Mul", "squares", List.of("centered", "centered"));
        add(graph, "ReduceMean", "variance", List.of("squares"), OnnxMessage.integers("axes", 2));
        add(graph, "Add", "varianceE", List.of("variance", "epsilon"));
        add(graph, "Sqrt", "deviation", List.of("varianceE"));
        add(graph, "Div", "unit", List.of("centered", "deviation"));
        add(graph, "Mul", "scaled", List.of("unit", "transform.LayerNorm.weight"));
        add(graph, "Add", "normalized", List.of("scaled", "transform.LayerNorm.bias"));
        add(graph, "Transpose", "tableT", List.of(TABLE), OnnxMessage.integers("perm", 1, 0));
        add(graph, "MatMul", "logits0", List.of("normalized", "tableT"));
        add(graph, "Add", "logits", List.of("logits0", "bias"));
        add(graph, "Relu", "relu", List.of("logits"));
        add(graph, "Add", "relu1", List.of("relu", "one"));
        add(graph, "Log", "log", List.of("relu1"));
        add(
                graph,
                "ReduceMax",
                "weights",
                List.of("log"),
                OnnxMessage.integers("axes", 1),
                OnnxMessage.integer("keepdims", 0));
        OnnxMessage floats = new OnnxMessage().message(1, new OnnxMessage().number(1, 1));
        graph.message(12, new OnnxMessage().text(1, "weights").message(2, floats));
        return new OnnxMessage().message(7, graph).bytes();
    }

    private static void add(
            OnnxMessage graph, String operation, String output, List<String> inputs, OnnxMessage... attributes) {
        OnnxMessage node = OnnxMessage.node("/mlm/" + output, operation, output, inputs);
        Arrays.stream(attributes).forEach(attribute -> node.message(5, attribute));
        graph.message(1, node);
    }

    /** Returns a tensor of one axis, a square matrix, or a scalar. */
    private static OnnxMessage constant(String name, float... values) {
        int[] dims = values.length == DIM * DIM
                ? new int[] {DIM, DIM}
                : values.length > 1 ? new int[] {values.length} : new int[0];
        return OnnxMessage.tensor(name, values, dims);
    }
}
