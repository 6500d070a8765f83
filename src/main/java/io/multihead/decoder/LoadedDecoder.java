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
 * @param arena owns mapped and packed weights
 */
record LoadedDecoder(
        String name,
        DecoderConfig config,
        Transformer model,
        Tokenizer tokenizer,
        DecoderWeights weights,
        FileTemplates templates,
        Arena arena) {}
