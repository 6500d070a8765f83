package io.multihead.encoder;

import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.TokenizerFiles;
import java.util.Map;

/**
 * The contents of an encoder's folder or file.
 *
 * @param core the model and its tokenizer, which the receiver closes; some or all weights are in a mapped file
 * @param dense layers after pooling
 * @param options pooling, lengths and the prompt
 * @param prompts the prompts by name
 * @param defaultPrompt the model's prompt for names without a prompt; the options may have another prompt
 * @param tokenizerFiles the tokenizer in a packed file
 */
record LoadedEncoder(
        EncoderCore core,
        DenseLayers dense,
        EncoderOptions options,
        Map<String, String> prompts,
        String defaultPrompt,
        TokenizerFiles tokenizerFiles) {}
