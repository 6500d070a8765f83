package io.multihead.text;

import io.multihead.internal.base.Checks;

/** Makes the tokenizer that a model's file describes. */
public final class Tokenizers {
    private Tokenizers() {}

    /**
     * {@return the tokenizer of a GGUF file's metadata}
     *
     * @param metadata the keys {@code tokenizer.ggml.*}
     * @throws IllegalArgumentException if a key is missing, has another type or an unknown value; the message names it
     */
    public static Tokenizer of(TokenizerMetadata metadata) {
        return new GgufTokenizer(Checks.notNull(metadata, "metadata")).tokenizer();
    }
}
