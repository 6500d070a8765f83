package io.multihead.decoder;

import io.multihead.position.Rope;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a model's file by the names of {@code config.json}; {@link GgufSettings} translates them to the keys of GGUF. A setting
 * that is missing or of another type is an error that names file and key.
 */
interface Settings {
    /** Returns the name of the family: {@code model_type}, or {@code general.architecture}. */
    String family();

    /** Returns whether this is a GGUF file, whose converter has changed some weights. */
    boolean isGguf();

    /** Returns whether a setting exists. */
    boolean has(String key);

    int integer(String key);

    double number(String key);

    default int integer(String key, int otherwise) {
        return has(key) ? integer(key) : otherwise;
    }

    default double number(String key, double otherwise) {
        return has(key) ? number(key) : otherwise;
    }

    boolean flag(String key, boolean otherwise);

    /** Returns a list of texts or numbers, or null where there is none. */
    @Nullable
    List<?> list(String key);

    /** Fails unless a setting is absent or one of some values. */
    void requireOneOf(String key, Object... values);

    /**
     * Returns the rotary positions.
     *
     * @param request what the family knows of them
     */
    Rope rope(RopeRequest request);

    /**
     * What a family knows of its rotary positions.
     *
     * @param headDim elements of a head
     * @param context tokens that the model is meant for
     * @param theta base of the frequencies where the file does not say
     * @param gguf the pairs of GGUF files, whose converter permutes the weights of some families; those of Hugging Face are halves
     */
    record RopeRequest(int headDim, int context, double theta, Rope.Pairing gguf) {}

    /** Returns the exception for a setting that is not as expected. */
    IllegalArgumentException fail(String key, String expected);
}
