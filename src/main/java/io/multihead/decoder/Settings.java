package io.multihead.decoder;

import io.multihead.position.Rope;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a model's file by the names of {@code config.json}; {@link GgufSettings} translates them to the keys of GGUF. A missing
 * setting or a setting of another type is an error that names the file and the key.
 */
interface Settings {
    /** The base of rotary frequencies of most models. */
    double DEFAULT_THETA = 10_000;

    /** The number of layers that draft tokens, after the layers of the model. */
    String DRAFTS = "draft_layers";

    /** The largest size of a model. */
    int MOST = 1 << 24;

    /** Returns the name of the family: {@code model_type}, or {@code general.architecture}. */
    String family();

    /** Fails if the file has a setting that requires a computation that no family here has. */
    void requireKnown();

    /** Returns whether this is a GGUF file, whose converter has changed some weights. */
    boolean isGguf();

    /** Returns the number of the model's tensors. No model has more layers. */
    int tensors();

    /** Returns whether a setting exists, and is not null. */
    boolean has(String key);

    /** Returns a size from 0 to 2^24, which must exist. */
    int integer(String key);

    /** Returns a finite number, which must exist. */
    double number(String key);

    default int integer(String key, int otherwise) {
        return has(key) ? integer(key) : otherwise;
    }

    /** Returns a number that is larger than another one, or a default. */
    default double above(String key, double least, double otherwise) {
        double value = has(key) ? number(key) : otherwise;
        if (!(value > least)) {
            throw fail(key, "a number above " + least);
        }
        return value;
    }

    /** Returns a number of at least 0, or a default. */
    default double notNegative(String key, double otherwise) {
        double value = has(key) ? number(key) : otherwise;
        if (!(value >= 0)) {
            throw fail(key, "a number of at least 0");
        }
        return value;
    }

    /**
     * Returns the number of tokens that a token sees; 0 for all tokens. In a {@code config.json}, null means all tokens, unlike an absent
     * setting, which means {@code otherwise}.
     */
    int window(String key, int otherwise);

    boolean flag(String key, boolean otherwise);

    /** Returns a list of texts, or null if there is none. */
    @Nullable
    List<String> texts(String key);

    /** Returns a list of integers, or null if there is none. */
    @Nullable
    List<Long> integers(String key);

    /** Returns whether a {@code config.json} has a setting with a value; false in GGUF. */
    boolean is(String key, Object value);

    /** Fails unless a setting is absent or has one of some values. */
    void requireOneOf(String key, Object... values);

    /**
     * Returns the rotary positions.
     *
     * @param request the settings that the family requests
     */
    Rope rope(RopeRequest request);

    /** Returns whether layers of a type have separate rotary positions. */
    boolean hasRope(String layers);

    /**
     * The settings of rotary positions that a family requests.
     *
     * @param headDim the number of elements of a head
     * @param context the context length of the model
     * @param theta the base of the frequencies if a {@code config.json} omits it
     * @param original the context length of the original training if a {@code config.json} omits it; 0 for {@code context}
     * @param gguf the pairing of GGUF files, whose converter permutes the weights of some families; Hugging Face weights are half-split
     * @param layers the type of the layers, if types may have separate frequencies; empty for all layers
     * @param partial the part of a head that is rotated if a {@code config.json} omits it
     * @param ofText whether sections of pairs for image coordinates have no effect, because the positions of a text are the same in all
     *     sections
     */
    record RopeRequest(
            int headDim,
            int context,
            double theta,
            int original,
            Rope.Pairing gguf,
            String layers,
            double partial,
            boolean ofText) {
        static RopeRequest of(int headDim, int context, Rope.Pairing gguf) {
            return new RopeRequest(headDim, context, DEFAULT_THETA, 0, gguf, "", 1, false);
        }

        RopeRequest withTheta(double newTheta) {
            return new RopeRequest(headDim, context, newTheta, original, gguf, layers, partial, ofText);
        }

        RopeRequest withOriginal(int newOriginal) {
            return new RopeRequest(headDim, context, theta, newOriginal, gguf, layers, partial, ofText);
        }

        RopeRequest withLayers(String newLayers) {
            return new RopeRequest(headDim, context, theta, original, gguf, newLayers, partial, ofText);
        }

        RopeRequest withPartial(double newPartial) {
            return new RopeRequest(headDim, context, theta, original, gguf, layers, newPartial, ofText);
        }

        RopeRequest withoutSections() {
            return new RopeRequest(headDim, context, theta, original, gguf, layers, partial, true);
        }
    }

    /** Returns the exception for a setting with an unexpected value. */
    IllegalArgumentException fail(String key, String expected);
}
