package io.multihead.decoder;

import io.multihead.model.Transformer;
import io.multihead.text.Tokenizer;
import java.lang.foreign.Arena;

/**
 * What a file or folder holds.
 *
 * @param name of the model, or of its family where the file does not say
 * @param weights what was taken, whose bytes are counted
 * @param templates of chats, as the file has them
 * @param embedder how it makes vectors of texts, as the file has it
 * @param states computes them
 * @param arena owns mapped and packed weights
 */
record LoadedDecoder(
        String name,
        DecoderConfig config,
        Transformer model,
        Tokenizer tokenizer,
        DecoderWeights weights,
        FileTemplates templates,
        EmbedderSettings embedder,
        TextStates states,
        Arena arena) {
    LoadedDecoder(
            String name,
            DecoderConfig config,
            Transformer model,
            Tokenizer tokenizer,
            DecoderWeights weights,
            FileTemplates templates,
            EmbedderSettings embedder,
            Arena arena) {
        this(name, config, model, tokenizer, weights, templates, embedder, states(model, config), arena);
    }

    private static TextStates states(Transformer model, DecoderConfig config) {
        Transformer brief = ContextRopes.of(model, config.layers(), 1);
        return new TextStates(new TextStates.Models(model, brief, ContextRopes.shortTokens(config.layers())));
    }

    /** Returns the model for contexts of at most so many tokens. */
    Transformer model(int contextTokens) {
        return ContextRopes.of(model, config.layers(), contextTokens);
    }

    /** Returns how many tokens the model may choose, or be given. */
    int vocabularySize() {
        int tokens = Math.min(tokenizer.vocabularySize(), model.vocabulary());
        return hasHead() ? Math.min(tokens, model.logits()) : tokens;
    }

    /** Returns whether the model can say which token follows. */
    boolean hasHead() {
        return model.logits() > 0;
    }

    /** Returns the name, the family and the sizes. */
    String description() {
        DecoderConfig.Sizes sizes = config.sizes();
        return name + " (" + config.family() + ", " + sizes.layers() + " layers of " + sizes.dim() + ", "
                + sizes.heads() + " heads on " + sizes.keyValueHeads() + ")"
                + (weights.eightBitInputs() ? ", inputs of 4-bit weights in 8 bits" : "");
    }
}
