package io.multihead.encoder;

import java.util.Map;

/**
 * What a folder or a file has of an encoder.
 *
 * @param core the model, which reads some or all of its weights from a mapped file, and its tokenizer
 * @param dense what comes after pooling
 * @param options pooling, lengths and the prompt
 * @param prompts by name
 * @param defaultPrompt the model's prompt where a name has none; that of the options may be another
 * @param tokenizerFiles what a packed file has of the tokenizer
 * @param unmapping of the mapped file; closed by the receiver
 */
record LoadedEncoder(
        EncoderCore core,
        DenseLayers dense,
        EncoderOptions options,
        Map<String, String> prompts,
        String defaultPrompt,
        TokenizerFiles tokenizerFiles,
        Unmapping unmapping) {
    void close() {
        unmapping.close();
    }
}
