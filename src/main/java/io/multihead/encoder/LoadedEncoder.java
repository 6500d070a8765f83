package io.multihead.encoder;

import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.TokenizerFiles;
import java.util.Map;

/**
 * What a folder or a file has of an encoder.
 *
 * @param core the model, which reads some or all of its weights from a mapped file, and its tokenizer; closed by the receiver
 * @param dense what comes after pooling
 * @param options pooling, lengths and the prompt
 * @param prompts by name
 * @param defaultPrompt the model's prompt where a name has none; that of the options may be another
 * @param tokenizerFiles what a packed file has of the tokenizer
 */
record LoadedEncoder(
        EncoderCore core,
        DenseLayers dense,
        EncoderOptions options,
        Map<String, String> prompts,
        String defaultPrompt,
        TokenizerFiles tokenizerFiles) {}
