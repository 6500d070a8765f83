package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import io.multihead.text.Tokenizer;
import java.util.List;

/**
 * What a file or folder holds, or a program has made of parts.
 *
 * @param facts what is said of it
 * @param identity which model it is, for files of sessions
 * @param templates of chats, as the file has them
 * @param embedder how it makes vectors of texts, as the file has it
 * @param states computes them
 * @param loading owns mapped and packed weights
 */
record LoadedDecoder(
        Facts facts,
        ModelIdentity identity,
        Transformer model,
        Tokenizer tokenizer,
        FileTemplates templates,
        EmbedderSettings embedder,
        TextStates states,
        Loading loading) {

    /**
     * What is said of a model.
     *
     * @param description its name and sizes, for people
     * @param settings as saved sessions cover them
     * @param context most tokens of a text that it was trained for
     * @param layers those that may have other frequencies for longer texts; none of a model of a program's own
     * @param packedBytes of its weights
     * @param tableBytes of tables in mapped files
     */
    record Facts(
            String description,
            String settings,
            int context,
            List<LayerRule> layers,
            long packedBytes,
            long tableBytes) {
        static Facts of(String name, DecoderConfig config, Weights weights, boolean eightBitInputs) {
            DecoderConfig.Sizes sizes = config.sizes();
            return new Facts(
                    name + " (" + config.family() + ", " + sizes.layers() + " layers of " + sizes.dim() + ", "
                            + sizes.heads() + " heads on " + sizes.keyValueHeads() + ")"
                            + (eightBitInputs ? ", inputs of 4-bit weights in 8 bits" : ""),
                    ModelSettings.of(config, eightBitInputs),
                    sizes.context(),
                    config.layers(),
                    weights.given().matrixBytes(),
                    weights.given().tableBytes());
        }

        static Facts ofOwn(Transformer model, int context) {
            String sizes = model.blocks().size() + " layers of " + model.dim();
            return new Facts("a model of parts, " + sizes, "", context, List.of(), 0, 0);
        }
    }

    /** A model of a file, whose weights have all been taken. */
    LoadedDecoder(
            String name,
            DecoderConfig config,
            Transformer model,
            Tokenizer tokenizer,
            Weights weights,
            FileTemplates templates,
            EmbedderSettings embedder,
            Loading loading) {
        this(
                Facts.of(name, config, weights, loading.eightBitInputs()),
                model,
                tokenizer,
                ModelIdentity.Tensors.of(weights),
                templates,
                embedder,
                loading);
    }

    private LoadedDecoder(
            Facts facts,
            Transformer model,
            Tokenizer tokenizer,
            ModelIdentity.Tensors tensors,
            FileTemplates templates,
            EmbedderSettings embedder,
            Loading loading) {
        this(
                facts,
                new ModelIdentity(facts.description(), vocabulary(model, tokenizer), facts.settings(), tensors),
                model,
                tokenizer,
                templates,
                embedder,
                states(model, facts.layers()),
                loading);
    }

    /** A model that a program has made of parts, whose weights are the program's. */
    static LoadedDecoder ofOwn(Transformer model, Tokenizer tokenizer, int context, Loading loading) {
        return new LoadedDecoder(
                Facts.ofOwn(model, context),
                model,
                tokenizer,
                ModelIdentity.Tensors.NONE,
                FileTemplates.NONE,
                EmbedderSettings.DEFAULT,
                loading);
    }

    private static TextStates states(Transformer model, List<LayerRule> layers) {
        Transformer brief = ContextRopes.of(model, layers, 1);
        return new TextStates(new TextStates.Models(model, brief, ContextRopes.shortTokens(layers)));
    }

    /** Returns the model for contexts of at most so many tokens. */
    Transformer model(int contextTokens) {
        return ContextRopes.of(model, facts.layers(), contextTokens);
    }

    /** Returns how many tokens the model may choose, or be given. */
    int vocabularySize() {
        return vocabulary(model, tokenizer);
    }

    private static int vocabulary(Transformer model, Tokenizer tokenizer) {
        int tokens = Math.min(tokenizer.vocabularySize(), model.vocabulary());
        return model.logits() > 0 ? Math.min(tokens, model.logits()) : tokens;
    }

    /** Returns whether the model can say which token follows. */
    boolean hasHead() {
        return model.logits() > 0;
    }
}
