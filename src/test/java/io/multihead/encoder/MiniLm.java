package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.model.Pooling;
import io.multihead.text.Models;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.file.Path;
import java.util.Objects;
import java.util.jar.JarFile;

/** The trained model all-MiniLM-L6-v2 on the class path of the tests. */
public final class MiniLm {
    private MiniLm() {}

    /** Loads the model. */
    public static SentenceEncoder load(Compute cpu) {
        try (InputStream model = Models.open(Models.MINILM);
                InputStream tokenizer = Models.open(Models.MINILM_TOKENIZER)) {
            return SentenceEncoder.ofOnnx(cpu, model, tokenizer, Pooling.MEAN);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the jar that contains the model, for JVMs that do not have the jar on their class path. */
    static Path library() throws IOException {
        URL model = Objects.requireNonNull(MiniLm.class.getResource(Models.MINILM));
        return Path.of(URI.create(
                ((JarURLConnection) model.openConnection()).getJarFileURL().toString()));
    }

    /** Loads the model from this jar. */
    static SentenceEncoder load(Compute cpu, Path library) throws IOException {
        try (JarFile jar = new JarFile(library.toFile());
                InputStream model = open(jar, Models.MINILM);
                InputStream tokenizer = open(jar, Models.MINILM_TOKENIZER)) {
            return SentenceEncoder.ofOnnx(cpu, model, tokenizer, Pooling.MEAN);
        }
    }

    private static InputStream open(JarFile jar, String resource) throws IOException {
        return jar.getInputStream(jar.getEntry(resource.substring(1)));
    }
}
