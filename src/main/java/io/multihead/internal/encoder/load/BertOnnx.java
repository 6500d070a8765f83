package io.multihead.internal.encoder.load;

import io.multihead.format.OnnxWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.StoredWeight;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A BERT encoder from an ONNX file: sizes from the weights' shapes, heads and epsilon from the graph's constants. */
public final class BertOnnx {
    /** The operations of an encoder that PyTorch exported. Any other operation would mean another function. */
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

    private static final String TANH = "Tanh";
    /** The operations of an encoder with a head that classifies sequences. */
    private static final Set<String> CLASSIFIER_OPERATIONS =
            Stream.concat(OPERATIONS.stream(), Stream.of("Gemm", TANH)).collect(Collectors.toUnmodifiableSet());

    /** The prefix of the encoder's names in a model with a head. */
    private static final String ENCODER = "bert.";

    private static final String WORDS = BertConfig.WORDS + ".weight";
    private static final String POSITIONS = BertConfig.POSITIONS + ".weight";
    private static final String TYPES = BertConfig.TOKEN_TYPES + ".weight";
    private static final String OUTPUT_BIAS = "classifier.bias";
    private static final String INNER = "encoder.layer.0.intermediate.dense.weight";

    private final OnnxWeights file;
    /** The prefix of the encoder's weights. */
    private final String prefix;

    private BertOnnx(OnnxWeights file) {
        this.file = file;
        prefix = file.names().contains(ENCODER + WORDS) ? ENCODER : "";
    }

    public static EncoderModel load(Loading loading, InputStream in) throws IOException {
        return load(loading, in, OPERATIONS, weights -> 0);
    }

    /** Reads a cross-encoder, whose head has as many labels as its bias has elements. */
    public static EncoderModel loadClassifier(Loading loading, InputStream in) throws IOException {
        return load(loading, in, CLASSIFIER_OPERATIONS, weights -> {
            Shape bias = weights.shape(OUTPUT_BIAS);
            if (bias.rank() != 1 || bias.dim(0) < 1) {
                throw Checks.fail(
                        "tensor \"" + OUTPUT_BIAS + "\"", "shape " + bias, "expected a number for each label");
            }
            return Checks.fitsInt(bias.dim(0), "labels");
        });
    }

    private static EncoderModel load(
            Loading loading, InputStream in, Set<String> operations, ToIntFunction<Weights> labels) throws IOException {
        Map<MemorySegment.Scope, Arena> arenas = new HashMap<>();
        try {
            OnnxWeights file = OnnxWeights.read(in, () -> {
                Arena arena = Arena.ofShared();
                arenas.put(arena.scope(), arena);
                return arena;
            });
            requireOperations(file.operations(), operations);
            BertOnnx bert = new BertOnnx(file);
            Weights weights = new Weights(loading, bert.new Source(arenas));
            return new EncoderModel(bert.config(), labels.applyAsInt(weights), weights);
        } finally {
            arenas.values().forEach(Arena::close);
        }
    }

    /** The graph's weights, under the encoder's own names; each is freed after it was copied. */
    private final class Source implements WeightSource {
        private final Map<MemorySegment.Scope, Arena> arenas;
        private final Set<String> names;

        Source(Map<MemorySegment.Scope, Arena> arenas) {
            this.arenas = arenas;
            names = file.names().stream()
                    .map(name -> name.startsWith(prefix) ? name.substring(prefix.length()) : name)
                    .collect(Collectors.toCollection(LinkedHashSet::new));
        }

        @Override
        public Set<String> names() {
            return names;
        }

        @Override
        public StoredWeight get(String name, Shape expected) {
            String own = prefix + name; // the head's last layer does not belong to the encoder
            return StoredWeight.of(file.get(file.names().contains(own) ? own : name));
        }

        @Override
        public long bytes(String name) {
            return get(name, Shape.of()).shape().elements() * Float.BYTES;
        }

        @Override
        public boolean isLasting() {
            return false;
        }

        @Override
        public void release(StoredWeight copied) {
            Arena arena = arenas.remove(copied.plain().memory().scope());
            if (arena != null) {
                arena.close();
            }
        }
    }

    private static void requireOperations(Set<String> found, Set<String> expected) {
        Set<String> others = new TreeSet<>(found);
        others.removeAll(expected);
        if (!others.isEmpty()) {
            throw Checks.fail(
                    "onnx",
                    "operations " + others,
                    "expected the operations of a BERT encoder in f32, " + new TreeSet<>(expected));
        }
        if (!found.contains("Erf")) {
            throw Checks.fail("onnx", "no Erf", "expected the erf form of GELU");
        }
        if (expected.contains(TANH) && !found.contains(TANH)) {
            throw Checks.fail("onnx", "no " + TANH, "expected the activation of the pooler");
        }
    }

    private BertConfig config() {
        int layers = 0;
        while (file.names().contains(prefix + "encoder.layer." + layers + ".intermediate.dense.weight")) {
            layers++;
        }
        Tensor words = table(WORDS);
        int dim = Checks.fitsInt(words.dim(1), "columns of " + WORDS);
        // scores are divided by the square root of the size of a head
        double root = constant("/encoder/layer.0/attention/self/Div");
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
                Checks.fitsInt(table(INNER).dim(0), "rows of " + INNER),
                Checks.fitsInt(words.dim(0), "rows of " + WORDS),
                Checks.fitsInt(table(POSITIONS).dim(0), "rows of " + POSITIONS),
                Checks.fitsInt(table(TYPES).dim(0), "rows of " + TYPES),
                epsilon(layers));
    }

    /** Returns the epsilon, which is the same for all normalizations of BERT. */
    private double epsilon(int layers) {
        double epsilon = constant("/embeddings/LayerNorm/Add");
        for (int layer = 0; layer < layers; layer++) {
            for (String norm : new String[] {"attention/output", "output"}) {
                String node = "/encoder/layer." + layer + "/" + norm + "/LayerNorm/Add";
                if (constant(node) != epsilon) {
                    throw Checks.fail("onnx", node + " adds " + constant(node), "expected " + epsilon);
                }
            }
        }
        // the file contains the float that is nearest to a decimal number
        return Double.parseDouble(Float.toString((float) epsilon));
    }

    private double constant(String node) {
        String path = prefix.isEmpty() ? node : "/" + prefix.replace(".", "") + node;
        return file.constant(path)
                .orElseThrow(() -> Checks.fail("onnx", "no constant at node " + path, "expected one"));
    }

    private Tensor table(String name) {
        Tensor table = file.get(prefix + name);
        if (table.rank() != 2) {
            throw Checks.fail("tensor \"" + name + "\"", "shape " + table.shape(), "expected two axes");
        }
        return table;
    }
}
