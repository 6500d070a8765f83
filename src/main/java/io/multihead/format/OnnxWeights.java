package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.ProtoReader;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * The f32 weights of an ONNX model that PyTorch exported, under the names of its modules. The graph is not executed.
 *
 * <p>An exporter gives the weight of a linear layer a new name and transposes it, but the {@code MatMul} that reads it keeps the
 * module's path: node {@code /encoder/layer.0/output/dense/MatMul} reads {@code encoder.layer.0.output.dense.weight}, which this
 * class returns as {@code [outputs, inputs]}, a transposed view of the file's matrix. The same applies to a {@code Gemm}, unless it
 * transposes the weight itself. Other weights keep their names.
 *
 * <p>The file is read as a stream. Each tensor is a separate Java array, which the garbage collector frees with the last view, or native memory
 * if the caller requests it. Memory grows with the bytes that were read, even if a malformed file claims larger lengths. Immutable. Its tensors
 * are thread-safe in arrays and shared arenas; tensors in a confined arena may be used only by its thread.
 *
 * @see <a href="https://github.com/onnx/onnx/blob/main/onnx/onnx.proto">the format</a>
 */
public final class OnnxWeights {
    private final Map<String, Tensor> tensors;
    /** Element types by the names that weights of f32 would have. */
    private final Map<String, Long> others;

    private final OnnxGraph graph;

    private OnnxWeights(Map<String, Tensor> tensors, Map<String, Long> others, OnnxGraph graph) {
        this.tensors = tensors;
        this.others = others;
        this.graph = graph;
    }

    /**
     * Reads a model.
     *
     * @param in the whole file, read to its end and not closed
     * @return its weights
     * @throws IOException if the stream cannot be read
     * @throws IllegalArgumentException if it is not a well-formed ONNX file, keeps weights in other files, or two weights have the
     *     same name
     */
    public static OnnxWeights read(InputStream in) throws IOException {
        return read(OnnxGraph.read(new ProtoReader("onnx", Checks.notNull(in, "in")), null));
    }

    /**
     * Reads a model whose matrices are packed or copied sequentially. Each weight that a {@code MatMul} reads gets memory of a separate arena,
     * which can be closed after the last use of that weight. The garbage collector would free an array much later. Other weights are arrays.
     * Weights are arrays, too, if the size of the stream is unknown, or if the node that reads them comes later in the file.
     *
     * @param in the whole file, read to its end and not closed
     * @param arenas returns a new arena, which the caller closes, also after an exception; {@link MemorySegment#scope} of a weight's memory is
     *     the scope of its arena
     * @return its weights
     * @throws IOException if the stream cannot be read
     * @throws IllegalArgumentException as {@link #read(InputStream)} does
     */
    public static OnnxWeights read(InputStream in, Supplier<Arena> arenas) throws IOException {
        Checks.notNull(arenas, "arenas");
        return read(OnnxGraph.read(new ProtoReader("onnx", Checks.notNull(in, "in")), arenas));
    }

    private static OnnxWeights read(OnnxGraph graph) {
        Map<String, String> modules = graph.modules();
        Set<String> outputsFirst = graph.transposedByProducts();
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        graph.tensors().forEach((name, tensor) -> {
            String own = own(modules, name);
            boolean transposed = modules.containsKey(name) && tensor.rank() == 2 && !outputsFirst.contains(name);
            if (tensors.put(own, transposed ? tensor.permute(1, 0) : tensor) != null) {
                throw Checks.fail("onnx", "two weights named " + own, "expected one");
            }
        });
        Map<String, Long> others = new HashMap<>();
        graph.others().forEach((name, type) -> others.put(own(modules, name), type));
        return new OnnxWeights(tensors, others, graph);
    }

    private static String own(Map<String, String> modules, String name) {
        String module = modules.get(name);
        return module == null ? name : module + ".weight";
    }

    /**
     * {@return the names of all f32 weights; an unmodifiable set in the file's order}. Integers, such as a table of positions, are
     * not weights.
     */
    public Set<String> names() {
        return Collections.unmodifiableSet(tensors.keySet());
    }

    /**
     * Returns one weight.
     *
     * @param name its name
     * @return a tensor in f32
     * @throws IllegalArgumentException if there is no weight of that name, or it is not f32
     */
    public Tensor get(String name) {
        Tensor tensor = tensors.get(name);
        if (tensor == null) {
            Long type = others.get(name);
            if (type != null) {
                throw Checks.fail("tensor \"" + name + "\"", "ONNX's element type " + type, "expected 1, which is f32");
            }
            throw Checks.fail("tensor \"" + name + "\"", "not in the file", "expected one of " + names());
        }
        return tensor;
    }

    /**
     * {@return the kinds of operation in the graph, such as {@code MatMul} and {@code Erf}; a new set in alphabetical order}. The operations
     * identify a model of another architecture, or a quantized model.
     */
    public Set<String> operations() {
        return new TreeSet<>(graph.operations());
    }

    /**
     * Returns the scalar constant that a node reads, such as the epsilon that is added to a variance.
     *
     * @param node the node's name
     * @return the constant, or empty if there is no such node or it does not read an f32 scalar
     */
    public OptionalDouble constant(String node) {
        return graph.constant(node);
    }
}
