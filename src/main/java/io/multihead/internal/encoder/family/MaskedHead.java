package io.multihead.internal.encoder.family;

import io.multihead.format.SafetensorsFolder;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.load.Given;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.PackedLinear;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The head of a masked language model (Devlin et al. 2019): a linear layer, GELU, layer normalization, and a linear layer with an output
 * for each token of the vocabulary, whose weights are the word embedding table unless the model states otherwise. Immutable and
 * thread-safe.
 */
public final class MaskedHead {
    private static final String BERT = "cls.predictions.";
    private static final String ROBERTA = "lm_head.";
    private static final String BIAS = "bias";
    private static final String DECODER = "decoder.weight";
    private static final String DECODER_BIAS = "decoder.bias";
    private static final String WORDS = BertConfig.WORDS + ".weight";

    private final PackedLinear dense;
    private final float[] weight;
    private final float[] bias;
    private final double epsilon;
    private final PackedLinear decoder;
    private final boolean isTied;
    private final Given weights;

    private MaskedHead(
            PackedLinear dense,
            float[] weight,
            float[] bias,
            double epsilon,
            PackedLinear decoder,
            boolean isTied,
            Given weights) {
        this.dense = dense;
        this.weight = weight;
        this.bias = bias;
        this.epsilon = epsilon;
        this.decoder = decoder;
        this.isTied = isTied;
        this.weights = weights;
    }

    /** Takes the head's weights, and packs them; other weights belong to the encoder or are ignored. */
    public static MaskedHead take(Loading loading, SafetensorsFolder files, BertConfig config, boolean isTied) {
        String prefix = config.isRoberta() ? ROBERTA : BERT;
        String words = files.names().stream()
                .filter(name -> name.endsWith(WORDS))
                .findFirst()
                .orElseThrow(() -> Checks.fail("weights", "no " + WORDS, "expected one"));
        Set<String> own = files.names().stream()
                .filter(name -> name.startsWith(prefix))
                .collect(Collectors.toCollection(TreeSet::new));
        UnaryOperator<String> stored = name -> name.equals(WORDS) ? words : prefix + name;
        WeightSource source = loading.adapted(WeightSource.of(files));
        Weights weights = new Weights(loading, source, new Weights.Naming(stored, own));
        String bias = weights.has(BIAS) ? BIAS : DECODER_BIAS;
        requireSame(weights, DECODER_BIAS, bias);
        if (isTied) {
            requireSame(weights, DECODER, WORDS);
        }
        return take(weights, config, isTied);
    }

    /** Takes the head's weights under its own names. */
    public static MaskedHead take(Weights weights, BertConfig config, boolean isTied) {
        int dim = config.dim();
        String transform = config.isRoberta() ? "" : "transform.";
        String norm = transform + (config.isRoberta() ? "layer_norm" : "LayerNorm");
        String bias = weights.has(BIAS) ? BIAS : DECODER_BIAS;
        MaskedHead head = new MaskedHead(
                weights.linear(transform + "dense", dim, dim, true).withActivation(Activation.GELU),
                weights.numbers(norm + ".weight", dim).toArray(),
                weights.numbers(norm + ".bias", dim).toArray(),
                config.epsilon(),
                PackedLinear.of(
                        weights.matrix(isTied ? WORDS : DECODER, config.vocabulary(), dim),
                        weights.numbers(bias, config.vocabulary())),
                isTied,
                weights.given());
        weights.requireAllUsed();
        return head;
    }

    /** Fails if a file stores a weight under a second name with other values. */
    private static void requireSame(Weights weights, String second, String first) {
        if (!second.equals(first) && weights.has(second)) {
            weights.requireSame(second, first);
            weights.ignore(second);
        }
    }

    /** Returns the first layer, with its activation. */
    public PackedLinear dense() {
        return dense;
    }

    /** Returns the last layer, which reads the result of {@link #normalize}. */
    public PackedLinear decoder() {
        return decoder;
    }

    /** Normalizes a row of the first layer's output, in double. */
    public void normalize(float[] from, int at, float[] to, int toAt) {
        int dim = weight.length;
        double sum = 0;
        for (int i = 0; i < dim; i++) {
            sum += from[at + i];
        }
        double mean = sum / dim;
        double squares = 0;
        for (int i = 0; i < dim; i++) {
            double centered = from[at + i] - mean;
            squares += centered * centered;
        }
        double divisor = Math.sqrt(squares / dim + epsilon);
        for (int i = 0; i < dim; i++) {
            to[toAt + i] = (float) ((from[at + i] - mean) / divisor * weight[i] + bias[i]);
        }
    }

    /** Returns whether the last layer's weights are the word embedding table. */
    public boolean isTied() {
        return isTied;
    }

    public Given weights() {
        return weights;
    }
}
