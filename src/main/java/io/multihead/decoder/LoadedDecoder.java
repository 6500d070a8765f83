package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.internal.load.Given;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import io.multihead.text.Tokenizer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model from a file or folder, or a model that a program has made of parts.
 *
 * @param facts the settings of the model
 * @param identity the identity of the model, for session files
 * @param templates the chat templates of the file
 * @param embedder the method by which the file computes vectors of texts
 * @param states the computation of pooled states of texts
 * @param loading the owner of mapped and packed weights
 * @param packing the contents of a packed file; null for a model made of parts
 */
record LoadedDecoder(
        Facts facts,
        ModelIdentity identity,
        Transformer model,
        Tokenizer tokenizer,
        FileTemplates templates,
        EmbedderSettings embedder,
        TextStates states,
        Loading loading,
        @Nullable Packing packing) {

    /** The weights and the other files of the model. */
    record Packing(DecoderFiles.Source source, Given weights) {}

    /**
     * Settings of a model.
     *
     * @param name the name of the model, for messages
     * @param description the name and the sizes of the model
     * @param settings the settings that saved sessions cover
     * @param context the largest number of tokens of a text in training
     * @param layers the layers that may have other frequencies for longer texts; none for a model made of parts
     * @param ownBytes the bytes of weights that only this process uses
     * @param mappedBytes the bytes of weights in mapped files
     */
    record Facts(
            String name,
            String description,
            String settings,
            int context,
            List<LayerRule> layers,
            long ownBytes,
            long mappedBytes) {
        static Facts of(String name, DecoderConfig config, Weights weights, boolean eightBitInputs) {
            DecoderConfig.Sizes sizes = config.sizes();
            return new Facts(
                    name,
                    name + " (" + config.family() + ", " + sizes.layers() + " layers of " + sizes.dim() + ", "
                            + sizes.heads() + " heads on " + sizes.keyValueHeads() + ")"
                            + (eightBitInputs ? ", inputs of 4-bit weights in 8 bits" : ""),
                    ModelSettings.of(config, eightBitInputs),
                    sizes.context(),
                    config.layers(),
                    weights.given().bytes(false),
                    weights.given().bytes(true));
        }

        static Facts ofOwn(Transformer model, int context) {
            String sizes = model.blocks().size() + " layers of " + model.dim();
            return new Facts("a model of parts", "a model of parts, " + sizes, "", context, List.of(), 0, 0);
        }
    }

    /** A model from a file, whose weights have all been loaded. */
    LoadedDecoder(
            DecoderFiles files, Transformer model, Weights weights, ModelIdentity.Tensors tensors, Loading loading) {
        this(
                Facts.of(files.name(), files.config(), weights, loading.eightBitInputs()),
                model,
                files.tokenizer(),
                tensors,
                files.templates(),
                files.embedder(),
                loading,
                new Packing(files.source(), weights.given()));
    }

    private LoadedDecoder(
            Facts facts,
            Transformer model,
            Tokenizer tokenizer,
            ModelIdentity.Tensors tensors,
            FileTemplates templates,
            EmbedderSettings embedder,
            Loading loading,
            @Nullable Packing packing) {
        this(
                facts,
                new ModelIdentity(
                        facts.description(), vocabulary(model, tokenizer, embedder.ranks()), facts.settings(), tensors),
                model,
                tokenizer,
                templates,
                embedder,
                states(model, facts.layers()),
                loading,
                packing);
    }

    /** A model that a program has made of parts. The program owns the weights. */
    static LoadedDecoder ofOwn(Transformer model, Tokenizer tokenizer, int context, Loading loading) {
        return new LoadedDecoder(
                Facts.ofOwn(model, context),
                model,
                tokenizer,
                ModelIdentity.Tensors.NONE,
                FileTemplates.NONE,
                EmbedderSettings.DEFAULT,
                loading,
                null);
    }

    private static TextStates states(Transformer model, List<LayerRule> layers) {
        Transformer brief = ContextRopes.of(model, layers, 1);
        return new TextStates(new TextStates.Models(model, brief, ContextRopes.shortTokens(layers)));
    }

    /** Returns the model for contexts of at most {@code contextTokens} tokens. */
    Transformer model(int contextTokens) {
        return ContextRopes.of(model, facts.layers(), contextTokens);
    }

    /** Returns the number of tokens of the vocabulary that the model may choose or read. */
    int vocabularySize() {
        return vocabulary(model, tokenizer, embedder.ranks());
    }

    private static int vocabulary(Transformer model, Tokenizer tokenizer, boolean ranks) {
        int tokens = Math.min(tokenizer.vocabularySize(), model.vocabulary());
        return model.logits() > 0 && !ranks ? Math.min(tokens, model.logits()) : tokens;
    }

    /** Returns whether the model has an output head, for tokens or for yes and no. */
    boolean hasHead() {
        return model.logits() > 0;
    }
}
