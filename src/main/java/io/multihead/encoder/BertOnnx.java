package io.multihead.encoder;

import static io.multihead.encoder.BertParts.POSITIONS;
import static io.multihead.encoder.BertParts.TYPES;
import static io.multihead.encoder.BertParts.WORDS;

import io.multihead.format.OnnxWeights;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A BERT encoder from an ONNX file: sizes from the weights' shapes, heads and epsilon from the graph's constants. */
final class BertOnnx {
    /** The operations of an encoder that PyTorch exported. With any other operation it would be another function. */
    private static final Set<String> OPERATIONS = Set.of(
            "Add",
            "Cast",
            "Concat",
            "Constant",
            "Div",
            "Erf",
            "Gather",
            "MatMul",
            "Mul",
            "Pow",
            "ReduceMean",
            "Reshape",
            "Shape",
            "Slice",
            "Softmax",
            "Sqrt",
            "Sub",
            "Transpose",
            "Unsqueeze");

    private static final Set<String> TABLES = Set.of(WORDS, POSITIONS, TYPES);
    private static final String INNER = "encoder.layer.0.intermediate.dense.weight";

    private BertOnnx() {}

    static BertModel load(InputStream in) throws IOException {
        Map<MemorySegment.Scope, Arena> arenas = new HashMap<>();
        try {
            OnnxWeights file = OnnxWeights.read(in, () -> {
                Arena arena = Arena.ofConfined();
                arenas.put(arena.scope(), arena);
                return arena;
            });
            requireOperations(file.operations());
            return BertModel.of(
                    config(file),
                    new Weights(
                            file.names(),
                            name -> get(file, name),
                            weight -> close(arenas.remove(weight.memory().scope()))));
        } finally {
            arenas.values().forEach(Arena::close);
        }
    }

    /** Returns a weight; a table, which the model reads in place, is an array even if a product reads it too. */
    private static Tensor get(OnnxWeights file, String name) {
        Tensor weight = file.get(name);
        return TABLES.contains(name) && weight.memory().isNative()
                ? Tensor.of(weight.toArray(), weight.shape().toArray())
                : weight;
    }

    private static void close(@Nullable Arena arena) {
        if (arena != null) {
            arena.close();
        }
    }

    private static void requireOperations(Set<String> found) {
        Set<String> others = new TreeSet<>(found);
        others.removeAll(OPERATIONS);
        if (!others.isEmpty()) {
            throw Checks.fail(
                    "onnx",
                    "operations " + others,
                    "expected those of a BERT encoder in f32, " + new TreeSet<>(OPERATIONS));
        }
        if (!found.contains("Erf")) {
            throw Checks.fail("onnx", "no Erf", "expected the erf form of GELU");
        }
    }

    private static BertConfig config(OnnxWeights file) {
        int layers = 0;
        while (file.names().contains("encoder.layer." + layers + ".intermediate.dense.weight")) {
            layers++;
        }
        Tensor words = table(file, WORDS);
        int dim = Checks.fitsInt(words.dim(1), "columns of " + WORDS);
        // scores are divided by the square root of a head's size
        double root = constant(file, "/encoder/layer.0/attention/self/Div");
        long headDim = Math.round(root * root);
        if (headDim < 1 || headDim > dim || dim % headDim != 0 || !(Math.abs(headDim - root * root) <= 1e-3)) {
            throw Checks.fail(
                    "onnx",
                    "scores are divided by " + root,
                    "expected the square root of a head's size, of which the " + dim + " elements are a multiple");
        }
        return new BertConfig(
                dim,
                layers,
                (int) (dim / headDim),
                Checks.fitsInt(table(file, INNER).dim(0), "rows of " + INNER),
                Checks.fitsInt(words.dim(0), "rows of " + WORDS),
                Checks.fitsInt(table(file, POSITIONS).dim(0), "rows of " + POSITIONS),
                Checks.fitsInt(table(file, TYPES).dim(0), "rows of " + TYPES),
                epsilon(file, layers));
    }

    /** All normalisations have one epsilon in BERT. */
    private static double epsilon(OnnxWeights file, int layers) {
        double epsilon = constant(file, "/embeddings/LayerNorm/Add");
        for (int layer = 0; layer < layers; layer++) {
            for (String norm : new String[] {"attention/output", "output"}) {
                String node = "/encoder/layer." + layer + "/" + norm + "/LayerNorm/Add";
                if (constant(file, node) != epsilon) {
                    throw Checks.fail("onnx", node + " adds " + constant(file, node), "expected " + epsilon);
                }
            }
        }
        // the file has the nearest float of a decimal number
        return Double.parseDouble(Float.toString((float) epsilon));
    }

    private static double constant(OnnxWeights file, String node) {
        return file.constant(node)
                .orElseThrow(() -> Checks.fail("onnx", "no constant at node " + node, "expected one"));
    }

    private static Tensor table(OnnxWeights file, String name) {
        Tensor table = file.get(name);
        if (table.rank() != 2) {
            throw Checks.fail("weight \"" + name + "\"", "shape " + table.shape(), "expected two axes");
        }
        return table;
    }
}
