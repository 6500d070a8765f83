package io.multihead.encoder;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** The base of tests with a tiny model in a separate folder, which a test may change before it loads the model. */
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

    /** Loads the model in the folder and returns the vector of a text. */
    float[] embed(String text) throws IOException {
        try (SentenceEncoder encoder = load()) {
            return encoder.embed(text);
        }
    }
}
