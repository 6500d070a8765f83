package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.text.Models;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The trained model of the test class path. */
public final class MiniLm {
    private MiniLm() {}

    /** Loads it. */
    public static SentenceEncoder load(Compute cpu) {
        try (InputStream model = Models.open(Models.MINILM);
                InputStream tokenizer = Models.open(Models.MINILM_TOKENIZER)) {
            return SentenceEncoder.ofOnnx(cpu, model, tokenizer, Pooling.MEAN);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
