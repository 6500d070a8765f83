package io.multihead.encoder;

import io.multihead.support.OnnxMessage;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A cross-encoder's head with random weights for MiniLM. The program that writes the expected outputs and the test that compares them use
 * this class, which needs only the JDK.
 */
public final class GoldenHead {
    /** The largest number of tokens of a pair. */
    public static final int MOST_TOKENS = 512;

    /** The indices of the golden texts that are queries. */
    public static final int[] QUERIES = {4, 19};

    private static final int[] EVERY_SECOND = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 20, 21, 23, 25, 27};
    private static final int[] SOME = {0, 5, 17, 19, 27};

    private static final int DIM = 384;

    private GoldenHead() {}

    /** Returns the indices of the texts that are passages of a query. */
    public static int[] passages(int query) {
        return query == QUERIES[0] ? EVERY_SECOND.clone() : SOME.clone();
    }

    /**
     * Returns the bytes of a second graph, which adds the head if they are appended to MiniLM's ONNX file, because readers of the format
     * merge both graphs. Its output is the state of the first token after a linear layer, tanh, and a linear layer of one label.
     */
    public static byte[] graph() {
        SplittableRandom random = new SplittableRandom(43);
        OnnxMessage graph = new OnnxMessage()
                .message(
                        1,
                        OnnxMessage.node("/pooler/Gather", "Gather", "first", List.of("last_hidden_state", "zero"))
                                .message(5, OnnxMessage.integer("axis", 1)))
                .message(1, gemm("pooler.dense", "first", "pooled"))
                .message(1, OnnxMessage.node("/pooler/activation/Tanh", "Tanh", "tanh", List.of("pooled")))
                .message(1, gemm("classifier", "tanh", "logits"));
        // the index is an int64 scalar
        graph.message(5, new OnnxMessage().number(2, 7).text(8, "zero").raw(9, new byte[8]));
        graph.message(5, tensor(random, "pooler.dense.weight", 1 / Math.sqrt(DIM), DIM, DIM));
        graph.message(5, tensor(random, "pooler.dense.bias", 0.1, DIM));
        graph.message(5, tensor(random, "classifier.weight", 0.2, 1, DIM));
        graph.message(5, tensor(random, "classifier.bias", 0.1, 1));
        OnnxMessage floats = new OnnxMessage().message(1, new OnnxMessage().number(1, 1));
        graph.message(12, new OnnxMessage().text(1, "logits").message(2, floats));
        return new OnnxMessage().message(7, graph).bytes();
    }

    private static OnnxMessage gemm(String module, String input, String output) {
        return OnnxMessage.node(
                        "/" + module.replace('.', '/') + "/Gemm",
                        "Gemm",
                        output,
                        List.of(input, module + ".weight", module + ".bias"))
                .message(5, OnnxMessage.integer("transB", 1));
    }

    private static OnnxMessage tensor(SplittableRandom random, String name, double deviation, int... dims) {
        float[] values = new float[Arrays.stream(dims).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(0, deviation);
        }
        return OnnxMessage.tensor(name, values, dims);
    }
}
