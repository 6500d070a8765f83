package io.multihead.encoder;

import java.io.IOException;
import java.nio.file.Path;

/** Small encoders with random weights, for tests of other packages. */
public final class TinyModels {
    private TinyModels() {}

    /** Writes a folder in the form of ColBERT's authors. */
    public static void writeTokens(Path folder) throws IOException {
        new TinyTokenModel(1).writeAuthors(folder);
    }

    /** Writes a folder of SPLADE. */
    public static void writeSparse(Path folder) throws IOException {
        new TinyMasked(1, true).write(folder);
    }

    /** Writes a GGUF file of BERT. */
    public static void writeGguf(Path file) throws IOException {
        TinyGguf.bert(TinyModel.weights(1)).write(file);
    }
}
