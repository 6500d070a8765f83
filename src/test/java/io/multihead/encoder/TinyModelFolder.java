package io.multihead.encoder;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A test with a tiny model in a separate folder, which it may change before it loads it. */
abstract class TinyModelFolder {
    @TempDir
    Path folder;

    @BeforeEach
    void writeModel() throws IOException {
        TinyModel.write(folder);
    }

    SentenceEncoder load() throws IOException {
        return SentenceEncoder.load(Compute.serial(), folder);
    }

    /** Returns the vector of a text from the current model in the folder. */
    float[] embed(String text) throws IOException {
        try (SentenceEncoder encoder = load()) {
            return encoder.embed(text);
        }
    }
}
