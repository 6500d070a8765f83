package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.EncoderFamilies;
import io.multihead.internal.encoder.layer.DenseFunction;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a cross-encoder's {@code config.json}.
 *
 * @param model sizes of the encoder
 * @param labels outputs of the head
 * @param activation the function of the outputs that the file names, or the default
 */
record RerankerConfig(EncoderConfig model, int labels, ScoreActivation activation) {
    private static final String CLASSIFIER = "ForSequenceClassification";
    private static final int MOST_LABELS = 1 << 16;
    /** The default number of labels in transformers. */
    private static final int DEFAULT_LABELS = 2;

    private static final Map<DenseFunction, ScoreActivation> ACTIVATIONS =
            Map.of(DenseFunction.IDENTITY, ScoreActivation.IDENTITY, DenseFunction.SIGMOID, ScoreActivation.SIGMOID);

    static RerankerConfig of(JsonObject config) {
        EncoderConfig model = EncoderFamilies.configure(config);
        requireTwoTypes(model);
        int labels = labels(config);
        ScoreActivation named = activation(config);
        return new RerankerConfig(model, labels, named == null ? byDefault(labels) : named);
    }

    /**
     * Fails if the family distinguishes the texts of a pair by token types, and the model has only one type. Other families separate the texts
     * only by the tokens between them.
     */
    static void requireTwoTypes(EncoderConfig model) {
        if (model.types() < model.pairTypes()) {
            throw Checks.fail("type_vocab_size", String.valueOf(model.types()), "expected 2, for two texts");
        }
    }

    /** Returns the default of sentence-transformers for files without an activation. */
    static ScoreActivation byDefault(int labels) {
        return labels == 1 ? ScoreActivation.SIGMOID : ScoreActivation.IDENTITY;
    }

    /** Returns the number of labels: sentence-transformers assumes one if the file does not name a classifier. */
    private static int labels(JsonObject config) {
        if (!EncoderFamilies.isArchitecture(config, CLASSIFIER)) {
            return 1;
        }
        if (config.has("id2label")) {
            int labels = config.object("id2label").names().size();
            if (labels < 1 || labels > MOST_LABELS) {
                throw config.fail("id2label", "1 to " + MOST_LABELS + " labels");
            }
            return labels;
        }
        return config.integer("num_labels", 1, MOST_LABELS, DEFAULT_LABELS);
    }

    private static @Nullable ScoreActivation activation(JsonObject config) {
        if (config.has("sentence_transformers")) {
            JsonObject framework = config.object("sentence_transformers");
            if (framework.names().contains("activation_fn")) {
                return activation(framework, "activation_fn");
            }
        }
        return activation(config, "sbert_ce_default_activation_function"); // the name before version 4
    }

    /**
     * Returns the function that a member names, or null if there is none. A function that is not PyTorch's is code in the folder.
     * sentence-transformers ignores it with a warning unless {@code trust_remote_code} is set; here such a function is an error.
     */
    static @Nullable ScoreActivation activation(JsonObject config, String member) {
        String name = config.find(member);
        return name == null
                ? null
                : DenseFunction.of(name)
                        .map(ACTIVATIONS::get)
                        .orElseThrow(() -> config.fail(
                                member, DenseFunction.IDENTITY.type() + " or " + DenseFunction.SIGMOID.type()));
    }
}
