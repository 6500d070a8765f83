package io.multihead.format;

import io.multihead.support.OnnxMessage;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Parts of ONNX files for tests. */
public final class OnnxFile {
    private OnnxFile() {}

    /** Returns a model with this graph. */
    public static byte[] model(OnnxMessage graph) {
        return new OnnxMessage().number(1, 6).text(2, "test").message(7, graph).bytes();
    }

    /** Returns a dense f32 tensor whose elements are raw bytes. */
    public static OnnxMessage tensor(String name, float[] values, long... dims) {
        int[] sizes = Arrays.stream(dims).mapToInt(Math::toIntExact).toArray();
        return OnnxMessage.tensor(name, values, sizes);
    }

    /** Returns a node. */
    public static OnnxMessage node(String name, String operation, String output, String... inputs) {
        return OnnxMessage.node(name, operation, output, List.of(inputs));
    }

    /** Returns a node that makes a constant. */
    public static OnnxMessage constant(String output, float value) {
        return node(output, "Constant", output)
                .message(5, new OnnxMessage().text(1, "value").message(5, tensor("", new float[] {value})));
    }

    /**
     * Returns a BERT encoder as PyTorch's exporter writes it. Matrices of layers are transposed, and named after their index in the graph.
     *
     * @param weights the weights by their names in PyTorch
     * @param constants the constants that nodes add or divide by, by the names of the nodes
     * @param activation the operation of the activation
     */
    public static byte[] bert(Map<String, Tensor> weights, Map<String, Float> constants, String activation) {
        return bert(weights, constants, activation, name -> name.startsWith("encoder."));
    }

    /** Returns a BERT encoder in which the given weights of two axes are operands of products. */
    public static byte[] bert(
            Map<String, Tensor> weights,
            Map<String, Float> constants,
            String activation,
            Predicate<String> isMultiplied) {
        OnnxMessage graph = new OnnxMessage().message(1, node("/act", activation, "erf"));
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
}
