package io.multihead.internal.encoder.family;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Static embeddings: the vector of a token is its row of a table, independent of other tokens. It is a model without blocks, whose states
 * are these rows. Immutable.
 *
 * @param dim elements of a row
 * @param vocabulary rows of the table
 * @param leavesUnknownOut whether unknown tokens are omitted, as in {@code encode} of model2vec's {@code StaticModel}
 */
public record StaticConfig(int dim, int vocabulary, boolean leavesUnknownOut) implements EncoderConfig {
    /** The table's name in files of packed weights, followed by {@code .weight} as in files of sentence-transformers. */
    public static final String TABLE = "embedding";

    /** The {@code model_type} of static embeddings in packed files; no {@code config.json} has it. */
    private static final String TYPE = "static_embedding";

    private static final String UNKNOWN = "leaves_unknown_out";

    /** The largest number of elements of a row. No model has more, and it limits the rows of a batch to 256 MB. */
    private static final int MOST_DIM = 1 << 16;

    public StaticConfig {
        if (dim < 1 || dim > MOST_DIM) {
            throw Checks.fail("hidden_size", String.valueOf(dim), "expected 1 to " + MOST_DIM);
        }
        Checks.atLeast(vocabulary, 1, "vocab_size");
    }

    /** Returns whether {@link #of} can read a configuration. */
    public static boolean isOf(JsonObject config) {
        return TYPE.equals(config.find("model_type"));
    }

    /** Reads the result of {@link #toJson}. */
    public static StaticConfig of(JsonObject config) {
        return new StaticConfig(
                config.integer("hidden_size", 1, MOST_DIM),
                config.integer("vocab_size", 1, Integer.MAX_VALUE),
                config.flag(UNKNOWN, false));
    }

    /** Reads the tokenizer of a {@code tokenizer.json}. */
    public EncoderTokenizer tokenizer(byte[] json) {
        return Tokenizers.ofStaticJson(json, leavesUnknownOut);
    }

    @Override
    public boolean isStatic() {
        return true;
    }

    @Override
    public int layers() {
        return 0;
    }

    @Override
    public int heads() {
        return 0;
    }

    /** Returns the largest integer, because there is no limit. */
    @Override
    public int positions() {
        return Integer.MAX_VALUE;
    }

    @Override
    public EncoderNames names(boolean classifies) {
        return new EncoderNames(TABLE + ".weight", List.of(""), List.of(), List.of(), List.of(), Set.of());
    }

    @Override
    public Transformer model(Weights weights) {
        return Transformer.of(weights.summedWords(TABLE + ".weight", vocabulary, dim), List.of());
    }

    @Override
    public ClassificationHead head(Weights weights, int labels) {
        throw Checks.fail("num_labels", String.valueOf(labels), "expected none of static embeddings");
    }

    @Override
    public Map<String, Object> toJson() {
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("model_type", TYPE);
        config.put("hidden_size", dim);
        config.put("vocab_size", vocabulary);
        config.put(UNKNOWN, leavesUnknownOut);
        return config;
    }
}
