package io.multihead.format;

import io.multihead.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Predicate;

/** Writes messages of ONNX's format for tests. */
public final class OnnxFile {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    /** An empty message. */
    public OnnxFile() {}

    /** A model whose graph is a message. */
    public static byte[] model(OnnxFile graph) {
        return new OnnxFile().integer(1, 6).text(2, "test").message(7, graph).bytes();
    }

    /** A dense tensor of f32, its elements as raw bytes. */
    public static OnnxFile tensor(String name, float[] values, long... dims) {
        OnnxFile tensor = new OnnxFile();
        for (long dim : dims) {
            tensor.integer(1, dim);
        }
        return tensor.integer(2, 1).text(8, name).raw(9, little(values));
    }

    /** A node. */
    public static OnnxFile node(String name, String operation, String output, String... inputs) {
        OnnxFile node = new OnnxFile();
        for (String input : inputs) {
            node.text(1, input);
        }
        return node.text(2, output).text(3, name).text(4, operation);
    }

    /** A node that makes a constant. */
    public static OnnxFile constant(String output, float value) {
        return node(output, "Constant", output)
                .message(5, new OnnxFile().text(1, "value").message(5, tensor("", new float[] {value})));
    }

    /**
     * Returns a BERT encoder as PyTorch's exporter writes it: matrices of layers are transposed and named after their place in the graph.
     *
     * @param weights by their names in PyTorch
     * @param constants what nodes add or divide by, by the name of the node
     * @param activation the operation of the activation
     */
    public static byte[] bert(Map<String, Tensor> weights, Map<String, Float> constants, String activation) {
        return bert(weights, constants, activation, name -> name.startsWith("encoder."));
    }

    /** The same with the names of those weights of two axes that are multiplied with. */
    public static byte[] bert(
            Map<String, Tensor> weights,
            Map<String, Float> constants,
            String activation,
            Predicate<String> isMultiplied) {
        OnnxFile graph = new OnnxFile().message(1, node("/act", activation, "erf"));
        constants.forEach((node, value) -> graph.message(1, constant(node + "_c", value))
                .message(1, node(node, node.substring(node.lastIndexOf('/') + 1), node + "_0", node + "_c")));
        int number = 0;
        for (Map.Entry<String, Tensor> entry : weights.entrySet()) {
            String name = entry.getKey();
            Tensor tensor = entry.getValue();
            if (tensor.rank() == 2 && isMultiplied.test(name)) {
                String path =
                        "/" + name.replace(".weight", "").replace('.', '/').replace("layer/", "layer.");
                name = "onnx::MatMul_" + number++;
                tensor = tensor.permute(1, 0);
                graph.message(1, node(path + "/MatMul", "MatMul", path + "_0", "x", name));
            }
            graph.message(5, tensor(name, tensor.toArray(), tensor.shape().toArray()));
        }
        return model(graph);
    }

    static byte[] little(float[] values) {
        ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        buffer.asFloatBuffer().put(values);
        return buffer.array();
    }

    public OnnxFile integer(int field, long value) {
        varint((long) field << 3);
        varint(value);
        return this;
    }

    /** A 32-bit number. */
    public OnnxFile real(int field, float value) {
        varint((long) field << 3 | 5);
        bytes.writeBytes(little(new float[] {value}));
        return this;
    }

    /** A field of 4 or 8 bytes, all 0xff. */
    public OnnxFile fixed(int field, int length) {
        varint((long) field << 3 | (length == 4 ? 5 : 1));
        for (int i = 0; i < length; i++) {
            bytes.write(0xff);
        }
        return this;
    }

    public OnnxFile text(int field, String value) {
        return raw(field, value.getBytes(StandardCharsets.UTF_8));
    }

    public OnnxFile message(int field, OnnxFile value) {
        return raw(field, value.bytes());
    }

    public OnnxFile raw(int field, byte[] value) {
        length(field, value.length);
        bytes.writeBytes(value);
        return this;
    }

    /** The start of a field of {@code length} bytes. */
    public OnnxFile length(int field, long length) {
        varint((long) field << 3 | 2);
        varint(length);
        return this;
    }

    public byte[] bytes() {
        return bytes.toByteArray();
    }

    private void varint(long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            bytes.write((int) (rest & 0x7f | 0x80));
            rest >>>= 7;
        }
        bytes.write((int) rest);
    }
}
