package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.ProtoReader;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a graph that are read: its f32 tensors, the inputs of its nodes, and scalar constants. Field numbers are from onnx.proto.
 */
final class OnnxGraph {
    private static final int MODEL_GRAPH = 7;
    private static final int GRAPH_NODE = 1;
    private static final int GRAPH_INITIALIZER = 5;
    private static final int GRAPH_SPARSE_INITIALIZER = 15;
    private static final int NODE_INPUT = 1;
    private static final int NODE_OUTPUT = 2;
    private static final int NODE_NAME = 3;
    private static final int NODE_OPERATION = 4;
    private static final int NODE_ATTRIBUTE = 5;
    private static final int ATTRIBUTE_NAME = 1;
    private static final int ATTRIBUTE_FLOAT = 2;
    private static final int ATTRIBUTE_INTEGER = 3;
    private static final int ATTRIBUTE_TENSOR = 5;
    private static final int TENSOR_DIMS = 1;
    private static final int TENSOR_TYPE = 2;
    private static final int TENSOR_FLOATS = 4;
    private static final int TENSOR_NAME = 8;
    private static final int TENSOR_RAW = 9;
    private static final int TENSOR_LOCATION = 14;
    private static final int TYPE_FLOAT = 1;

    private static final String MAT_MUL = "MatMul";
    private static final String GEMM = "Gemm";

    private record Node(String operation, List<String> inputs, Attributes attributes) {
        /** Returns the right operand of a product, or null for another node. */
        @Nullable
        String operand() {
            boolean product =
                    operation.equals(MAT_MUL) ? inputs.size() == 2 : operation.equals(GEMM) && inputs.size() > 1;
            return product ? inputs.get(1) : null;
        }
    }

    /** The attributes of a node that are read. */
    private static final class Attributes {
        private final Map<String, Double> numbers = new HashMap<>();

        @Nullable
        Float constant;

        double number(String name, double otherwise) {
            return numbers.getOrDefault(name, otherwise);
        }
    }

    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    /** The types of tensors other than f32, whose elements are not read. */
    private final Map<String, Long> others = new HashMap<>();

    private final Map<String, Node> nodes = new HashMap<>();
    private final Map<String, Float> constants = new HashMap<>();
    private final Set<String> operations = new HashSet<>();

    /** The right operands of products of the nodes that were read. */
    private final Set<String> operands = new HashSet<>();

    private final @Nullable Supplier<Arena> arenas;

    private OnnxGraph(@Nullable Supplier<Arena> arenas) {
        this.arenas = arenas;
    }

    static OnnxGraph read(ProtoReader in, @Nullable Supplier<Arena> arenas) throws IOException {
        OnnxGraph graph = new OnnxGraph(arenas);
        boolean found = false;
        for (int field = in.field(); field != 0; field = in.field()) {
            if (field == MODEL_GRAPH) {
                long outer = in.enter();
                graph.readGraph(in);
                in.leave(outer);
                found = true;
            } else {
                in.skip();
            }
        }
        if (!found) {
            throw in.fail("no graph", "expected one");
        }
        return graph;
    }

    Map<String, Tensor> tensors() {
        return tensors;
    }

    /** Returns the numbers of the element types of all tensors except f32 tensors. */
    Map<String, Long> others() {
        return others;
    }

    Set<String> operations() {
        return operations;
    }

    /** Returns the module of each tensor that is the right operand of a product in a module other than the outermost one. */
    Map<String, String> modules() {
        Map<String, String> modules = new HashMap<>();
        nodes.forEach((name, node) -> {
            String operand = node.operand();
            if (operand != null
                    && name.startsWith("/")
                    && name.endsWith("/" + node.operation)
                    && name.length() > node.operation.length() + 1
                    && (tensors.containsKey(operand) || others.containsKey(operand))) {
                String module = name.substring(1, name.length() - node.operation.length() - 1)
                        .replace('/', '.');
                String other = modules.put(operand, module);
                if (other != null) {
                    throw Checks.fail("onnx", other + " and " + module + " share a weight", "expected one each");
                }
            }
        });
        return modules;
    }

    /**
     * Returns the tensors that products read as {@code [outputs, inputs]}: operands that a Gemm transposes, as PyTorch's exporter writes a
     * linear layer of matrices. A Gemm with a factor other than 1 is an error.
     */
    Set<String> transposedByProducts() {
        Set<String> transposed = new HashSet<>();
        nodes.forEach((name, node) -> {
            String operand = node.operand();
            if (!node.operation.equals(GEMM) || operand == null || !tensors.containsKey(operand)) {
                return;
            }
            for (String plain : List.of("alpha", "beta")) {
                requireAttribute(name, node, plain, 1);
            }
            requireAttribute(name, node, "transA", 0);
            if (node.attributes.number("transB", 0) != 0) {
                transposed.add(operand);
            }
        });
        return transposed;
    }

    private static void requireAttribute(String name, Node node, String attribute, double expected) {
        double actual = node.attributes.number(attribute, expected);
        if (!(actual == expected)) {
            throw Checks.fail("onnx", GEMM + " " + name + " with " + attribute + " " + actual, "expected " + expected);
        }
    }

    OptionalDouble constant(String name) {
        Node node = nodes.get(name);
        return node == null
                ? OptionalDouble.empty()
                : node.inputs.stream()
                        .filter(constants::containsKey)
                        .mapToDouble(constants::get)
                        .findFirst();
    }

    private void readGraph(ProtoReader in) throws IOException {
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case GRAPH_NODE -> readNode(in);
                case GRAPH_INITIALIZER -> readInitializer(in);
                case GRAPH_SPARSE_INITIALIZER -> throw in.fail("a sparse tensor", "expected dense ones");
                default -> in.skip();
            }
        }
    }

    private void readNode(ProtoReader in) throws IOException {
        long outer = in.enter();
        String name = "";
        String operation = "";
        String output = "";
        List<String> inputs = new ArrayList<>();
        Attributes attributes = new Attributes();
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case NODE_INPUT -> inputs.add(in.text());
                case NODE_OUTPUT -> output = in.text();
                case NODE_NAME -> name = in.text();
                case NODE_OPERATION -> operation = in.text();
                case NODE_ATTRIBUTE -> readAttribute(in, attributes);
                default -> in.skip();
            }
        }
        in.leave(outer);
        operations.add(operation);
        Node node = new Node(operation, List.copyOf(inputs), attributes);
        nodes.put(name, node);
        String operand = node.operand();
        if (operand != null) {
            operands.add(operand);
        }
        if (attributes.constant != null && operation.equals("Constant")) {
            constants.put(output, attributes.constant);
        }
    }

    private void readAttribute(ProtoReader in, Attributes to) throws IOException {
        long outer = in.enter();
        String name = "";
        Double number = null;
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case ATTRIBUTE_NAME -> name = in.text();
                case ATTRIBUTE_FLOAT -> number = (double) in.real();
                case ATTRIBUTE_INTEGER -> number = (double) in.integer();
                case ATTRIBUTE_TENSOR -> readConstant(in, to);
                default -> in.skip();
            }
        }
        if (number != null) {
            to.numbers.put(name, number);
        }
        in.leave(outer);
    }

    private void readConstant(ProtoReader in, Attributes to) throws IOException {
        OnnxTensor tensor = readTensor(in);
        if (tensor.values != null && tensor.values.byteSize() == Float.BYTES) {
            to.constant = tensor.values.get(ValueLayout.JAVA_FLOAT, 0);
        }
    }

    private void readInitializer(ProtoReader in) throws IOException {
        OnnxTensor tensor = readTensor(in);
        if (tensor.type != TYPE_FLOAT) {
            others.put(tensor.name, tensor.type);
            return;
        }
        String what = "tensor \"" + tensor.name + "\"";
        MemorySegment values = tensor.values == null ? MemorySegment.ofArray(new float[0]) : tensor.values;
        long elements = values.byteSize() / Float.BYTES;
        Shape shape;
        try {
            shape = Shape.of(tensor.dims);
        } catch (IllegalArgumentException wrong) {
            throw Checks.fail(
                    what, "shape " + Arrays.toString(tensor.dims), "expected sizes whose product is below 2^63");
        }
        if (shape.elements() != elements) {
            throw Checks.fail(what, elements + " elements", "expected the elements of shape " + shape);
        }
        if (tensors.put(tensor.name, Tensor.view(values, DType.F32, shape)) != null) {
            throw Checks.fail(what, "used twice", "expected unique names");
        }
    }

    /** A tensor while it is read. It has values only if they are f32. */
    private static final class OnnxTensor {
        String name = "";
        long type;
        long[] dims = {};

        @Nullable
        MemorySegment values;
    }

    private OnnxTensor readTensor(ProtoReader in) throws IOException {
        long outer = in.enter();
        OnnxTensor tensor = new OnnxTensor();
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case TENSOR_DIMS -> tensor.dims = in.integers(tensor.dims);
                case TENSOR_TYPE -> tensor.type = in.integer();
                case TENSOR_NAME -> tensor.name = in.text();
                case TENSOR_FLOATS -> tensor.values = in.floats(null);
                case TENSOR_RAW -> {
                    // every exporter writes fields in the order of their numbers, with the type before the data
                    if (tensor.type == TYPE_FLOAT) {
                        tensor.values = in.floats(operands.contains(tensor.name) ? arenas : null);
                    } else {
                        in.skip();
                    }
                }
                case TENSOR_LOCATION -> {
                    if (in.integer() != 0) {
                        throw in.fail("tensor \"" + tensor.name + "\" in another file", "expected its data here");
                    }
                }
                default -> in.skip();
            }
        }
        in.leave(outer);
        return tensor;
    }
}
