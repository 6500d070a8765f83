package io.multihead.encoder;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A cross-encoder's head of random weights for MiniLM, for the oracle that writes its outputs and the test that compares. Needs nothing but the
 * JDK.
 */
public final class GoldenHead {
    /** Tokens of a pair. */
    public static final int MOST_TOKENS = 512;

    /** The golden texts that are a query, and those of the passages of each. */
    public static final int[] QUERIES = {4, 19};

    private static final int[] EVERY_SECOND = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 20, 21, 23, 25, 27};
    private static final int[] SOME = {0, 5, 17, 19, 27};

    private static final int DIM = 384;

    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    GoldenHead() {}

    /** Returns the indices of the texts that are passages of a query. */
    public static int[] passages(int query) {
        return query == QUERIES[0] ? EVERY_SECOND.clone() : SOME.clone();
    }

    /**
     * Returns what makes a model with a head of MiniLM's ONNX file when it stands behind it: a second graph, which the format's readers merge
     * into the first. Its output is the first token's state through a linear layer, tanh, and a linear layer of one label.
     */
    public static byte[] graph() {
        SplittableRandom random = new SplittableRandom(43);
        GoldenHead graph = new GoldenHead()
                .message(
                        1,
                        node("/pooler/Gather", "Gather", "first", List.of("last_hidden_state", "zero"))
                                .message(5, integer("axis", 1)))
                .message(1, gemm("pooler.dense", "first", "pooled"))
                .message(1, node("/pooler/activation/Tanh", "Tanh", "tanh", List.of("pooled")))
                .message(1, gemm("classifier", "tanh", "logits"));
        // an int64 without axes
        graph.message(5, new GoldenHead().number(2, 7).text(8, "zero").raw(9, new byte[8]));
        graph.message(5, tensor(random, "pooler.dense.weight", 1 / Math.sqrt(DIM), DIM, DIM));
        graph.message(5, tensor(random, "pooler.dense.bias", 0.1, DIM));
        graph.message(5, tensor(random, "classifier.weight", 0.2, 1, DIM));
        graph.message(5, tensor(random, "classifier.bias", 0.1, 1));
        GoldenHead floats = new GoldenHead().message(1, new GoldenHead().number(1, 1));
        graph.message(12, new GoldenHead().text(1, "logits").message(2, floats));
        return new GoldenHead().message(7, graph).bytes.toByteArray();
    }

    private static GoldenHead gemm(String module, String input, String output) {
        return node(
                        "/" + module.replace('.', '/') + "/Gemm",
                        "Gemm",
                        output,
                        List.of(input, module + ".weight", module + ".bias"))
                .message(5, integer("transB", 1));
    }

    static GoldenHead node(String name, String operation, String output, List<String> inputs) {
        GoldenHead node = new GoldenHead();
        inputs.forEach(input -> node.text(1, input));
        return node.text(2, output).text(3, name).text(4, operation);
    }

    static GoldenHead integer(String name, int value) {
        return new GoldenHead().text(1, name).number(3, value).number(20, 2);
    }

    static GoldenHead tensor(SplittableRandom random, String name, double deviation, int... dims) {
        GoldenHead tensor = new GoldenHead();
        int elements = 1;
        for (int dim : dims) {
            tensor.number(1, dim);
            elements *= dim;
        }
        ByteBuffer values = ByteBuffer.allocate(Float.BYTES * elements).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < elements; i++) {
            values.putFloat((float) random.nextGaussian(0, deviation));
        }
        return tensor.number(2, 1).text(8, name).raw(9, values.array());
    }

    GoldenHead number(int field, long value) {
        varint((long) field << 3);
        varint(value);
        return this;
    }

    GoldenHead text(int field, String value) {
        return raw(field, value.getBytes(StandardCharsets.UTF_8));
    }

    GoldenHead message(int field, GoldenHead value) {
        return raw(field, value.bytes.toByteArray());
    }

    GoldenHead raw(int field, byte[] value) {
        varint((long) field << 3 | 2);
        varint(value.length);
        bytes.writeBytes(value);
        return this;
    }

    private void varint(long value) {
        long rest = value;
        for (; rest > 0x7f; rest >>>= 7) {
            bytes.write((int) (rest & 0x7f | 0x80));
        }
        bytes.write((int) rest);
    }
}
