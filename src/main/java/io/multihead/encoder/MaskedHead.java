package io.multihead.encoder;

import io.multihead.format.SafetensorsFolder;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The head of a masked language model (Devlin et al. 2019): a linear layer, GELU, layer normalisation, and a linear layer with an output for each
 * token of the vocabulary, whose weights are the table of words unless the model says otherwise. Immutable and thread-safe.
 */
final class MaskedHead {
    private static final String BERT = "cls.predictions.";
    private static final String ROBERTA = "lm_head.";
    private static final String WORDS = BertConfig.WORDS + ".weight";

    private final PackedLinear dense;
    private final float[] weight;
    private final float[] bias;
    private final double epsilon;
    private final PackedLinear decoder;

    private MaskedHead(PackedLinear dense, float[] weight, float[] bias, double epsilon, PackedLinear decoder) {
        this.dense = dense;
        this.weight = weight;
        this.bias = bias;
        this.epsilon = epsilon;
        this.decoder = decoder;
    }

    /** Takes the head's weights, and packs them; what else the files have is the encoder's or ignored. */
    static MaskedHead take(SafetensorsFolder files, BertConfig config, boolean isTied) {
        String prefix = config.isRoberta() ? ROBERTA : BERT;
        String transform = config.isRoberta() ? "" : "transform.";
        String norm = transform + (config.isRoberta() ? "layer_norm" : "LayerNorm");
        Set<String> names = files.names().stream()
                .filter(name -> name.startsWith(prefix))
                .map(name -> name.substring(prefix.length()))
                .collect(Collectors.toCollection(TreeSet::new));
        Weights weights = new Weights(names, name -> files.get(prefix + name));
        int dim = config.dim();
        PackedLinear dense = EncoderParts.of(weights).linear(transform + "dense", dim, dim, true);
        float[] normWeight = weights.take(norm + ".weight", dim).toArray();
        float[] normBias = weights.take(norm + ".bias", dim).toArray();
        Tensor bias = same(weights, names, "bias", "decoder.bias", config.vocabulary());
        Tensor decoder =
                isTied ? tied(files, weights, names, config) : weights.take("decoder.weight", config.vocabulary(), dim);
        weights.requireAllUsed("a masked language model's head");
        return new MaskedHead(
                dense.withActivation(Activation.GELU),
                normWeight,
                normBias,
                config.epsilon(),
                EncoderParts.pack(decoder, bias));
    }

    /** Returns the table of words, with which a decoder of its own agrees where there is one. */
    private static Tensor tied(SafetensorsFolder files, Weights weights, Set<String> names, BertConfig config) {
        String table = files.names().stream()
                .filter(name -> name.endsWith(WORDS))
                .findFirst()
                .orElseThrow(() -> Checks.fail("weights", "no " + WORDS, "expected one"));
        Tensor words = files.get(table);
        if (names.contains("decoder.weight")) {
            Tensor own = weights.take("decoder.weight", config.vocabulary(), config.dim());
            requireSame(own, "decoder.weight", words, table);
        }
        return words;
    }

    /** Returns a weight that files have under one name or both. */
    private static Tensor same(Weights weights, Set<String> names, String first, String second, long length) {
        if (!names.contains(first)) {
            return weights.take(second, length);
        }
        Tensor tensor = weights.take(first, length);
        if (names.contains(second)) {
            requireSame(weights.take(second, length), second, tensor, first);
        }
        return tensor;
    }

    private static void requireSame(Tensor own, String name, Tensor other, String otherName) {
        MemorySegment memory = own.memory();
        if (own.dtype() != other.dtype() || memory.mismatch(other.memory()) >= 0) {
            throw Checks.fail(
                    "weight \"" + name + "\"",
                    "not that of " + otherName,
                    "expected the same, as tie_word_embeddings says; versions of transformers differ in which they take");
        }
    }

    /** Returns the first layer, with its activation. */
    PackedLinear dense() {
        return dense;
    }

    /** Returns the last layer, which reads what {@link #normalise} writes. */
    PackedLinear decoder() {
        return decoder;
    }

    /** Normalises a row of the first layer's output, in double. */
    void normalise(float[] from, int at, float[] to, int toAt) {
        int dim = weight.length;
        double sum = 0;
        for (int i = 0; i < dim; i++) {
            sum += from[at + i];
        }
        double mean = sum / dim;
        double squares = 0;
        for (int i = 0; i < dim; i++) {
            double centred = from[at + i] - mean;
            squares += centred * centred;
        }
        double divisor = Math.sqrt(squares / dim + epsilon);
        for (int i = 0; i < dim; i++) {
            to[toAt + i] = (float) ((from[at + i] - mean) / divisor * weight[i] + bias[i]);
        }
    }

    /** Returns the bytes of all weights, none of which is mapped. */
    long bytes() {
        return EncoderParts.bytes(dense, false) + EncoderParts.bytes(decoder, false) + 2L * Float.BYTES * weight.length;
    }
}
