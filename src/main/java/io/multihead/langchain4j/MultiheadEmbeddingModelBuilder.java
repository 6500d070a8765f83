package io.multihead.langchain4j;

import dev.langchain4j.model.embedding.EmbeddingModel;
import io.multihead.compute.Compute;
import io.multihead.encoder.LongTexts;
import io.multihead.encoder.Pooling;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.internal.Checks;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Collects what a {@link MultiheadEmbeddingModel} is made of. For one thread. */
public final class MultiheadEmbeddingModelBuilder {
    private @Nullable Path folder;
    private @Nullable String onnx;
    private String tokenizer = "";
    private Pooling pooling = Pooling.MEAN;
    private @Nullable ClassLoader loader;
    private LongTexts longTexts = LongTexts.TRUNCATE;
    private int maxTokens;
    private @Nullable String queryPrefix;
    private @Nullable String documentPrefix;
    private @Nullable Compute compute;
    private int threads = 1;
    private @Nullable String name;

    MultiheadEmbeddingModelBuilder() {}

    /**
     * Takes the model from a folder, as {@link SentenceEncoder#load} does.
     *
     * @param newFolder the folder
     * @return this
     */
    public MultiheadEmbeddingModelBuilder directory(Path newFolder) {
        folder = Checks.notNull(newFolder, "directory");
        onnx = null;
        return this;
    }

    /**
     * Takes the model from resources of the class path, as {@link SentenceEncoder#ofOnnx} does.
     *
     * @param newOnnx name of the ONNX file, without a leading slash
     * @param tokenizerJson name of the {@code tokenizer.json}
     * @param newPooling how tokens become one vector
     * @return this
     */
    public MultiheadEmbeddingModelBuilder resources(String newOnnx, String tokenizerJson, Pooling newPooling) {
        onnx = Checks.notNull(newOnnx, "onnx");
        tokenizer = Checks.notNull(tokenizerJson, "tokenizerJson");
        pooling = Checks.notNull(newPooling, "pooling");
        folder = null;
        return this;
    }

    /**
     * Finds resources through this class loader. Without one, that of langchain4j's core and then that of this library are asked.
     *
     * @param newLoader a class loader that sees the model
     * @return this
     */
    public MultiheadEmbeddingModelBuilder classLoader(ClassLoader newLoader) {
        loader = Checks.notNull(newLoader, "classLoader");
        return this;
    }

    /**
     * Chooses what happens to texts of too many tokens. Without a choice, they are truncated, as in sentence-transformers.
     *
     * @param newLongTexts the way
     * @return this
     */
    public MultiheadEmbeddingModelBuilder longTexts(LongTexts newLongTexts) {
        longTexts = Checks.notNull(newLongTexts, "longTexts");
        return this;
    }

    /**
     * Sets how many tokens of a text count, {@code [CLS]} and {@code [SEP]} included. Without it, the folder says so, or the
     * model's positions.
     *
     * @param newMaxTokens 3 to the model's positions
     * @return this
     */
    public MultiheadEmbeddingModelBuilder maxTokens(int newMaxTokens) {
        maxTokens = (int) Checks.atLeast(newMaxTokens, 3, "maxTokens");
        return this;
    }

    /**
     * Sets the prefix of each text of a request for queries. The default is the folder's prompt.
     *
     * @param prefix the text
     * @return this
     */
    public MultiheadEmbeddingModelBuilder queryPrefix(String prefix) {
        queryPrefix = Checks.notNull(prefix, "queryPrefix");
        return this;
    }

    /**
     * Sets the prefix of each text of a request for documents. The default is the folder's prompt.
     *
     * @param prefix the text
     * @return this
     */
    public MultiheadEmbeddingModelBuilder documentPrefix(String prefix) {
        documentPrefix = Checks.notNull(prefix, "documentPrefix");
        return this;
    }

    /**
     * Computes on the calling thread and on threads of the model's own. Without it, on the calling thread alone.
     *
     * @param newThreads how many threads work on one request, the caller included; at least 1
     * @return this
     */
    public MultiheadEmbeddingModelBuilder threads(int newThreads) {
        threads = (int) Checks.atLeast(newThreads, 1, "threads");
        compute = null;
        return this;
    }

    /**
     * Computes on the threads of a Compute that the caller owns.
     *
     * @param newCompute stays the caller's to close
     * @return this
     */
    public MultiheadEmbeddingModelBuilder compute(Compute newCompute) {
        compute = Checks.notNull(newCompute, "compute");
        return this;
    }

    /**
     * Sets what {@link EmbeddingModel#modelName} says. Without it, the name of the folder or of the resource.
     *
     * @param newName a name
     * @return this
     */
    public MultiheadEmbeddingModelBuilder modelName(String newName) {
        name = Checks.notNull(newName, "modelName");
        return this;
    }

    /**
     * Loads the model.
     *
     * @return the model
     * @throws UncheckedIOException if a file or resource is missing or cannot be read
     * @throws IllegalArgumentException if neither folder nor resources were given, or the model is malformed or not implemented
     */
    public MultiheadEmbeddingModel build() {
        Compute own = compute == null ? Compute.threads(threads) : null;
        try {
            SentenceEncoder loaded = load(own == null ? Checks.notNull(compute, "compute") : own);
            SentenceEncoder encoder =
                    (maxTokens == 0 ? loaded : loaded.withMaxTokens(maxTokens)).withLongTexts(longTexts);
            return new MultiheadEmbeddingModel(
                    encoder,
                    queryPrefix == null ? encoder.forQueries() : encoder.withPrompt(queryPrefix),
                    documentPrefix == null ? encoder.forDocuments() : encoder.withPrompt(documentPrefix),
                    modelName(),
                    own);
        } catch (IOException e) {
            closeAfterFailure(own);
            throw new UncheckedIOException(e);
        } catch (RuntimeException failed) {
            closeAfterFailure(own);
            throw failed;
        }
    }

    private static void closeAfterFailure(@Nullable Compute own) {
        if (own != null) {
            own.close();
        }
    }

    private SentenceEncoder load(Compute cpu) throws IOException {
        if (folder != null) {
            return SentenceEncoder.load(cpu, folder);
        }
        if (onnx == null) {
            throw Checks.fail("model", "neither directory nor resources", "expected one of them");
        }
        try (InputStream model = open(onnx);
                InputStream json = open(tokenizer)) {
            return SentenceEncoder.ofOnnx(cpu, model, json, pooling);
        }
    }

    private InputStream open(String resource) throws IOException {
        ClassLoader[] loaders = loader == null
                ? new ClassLoader[] {
                    EmbeddingModel.class.getClassLoader(), getClass().getClassLoader()
                }
                : new ClassLoader[] {loader};
        for (ClassLoader candidate : loaders) {
            InputStream in = candidate.getResourceAsStream(resource);
            if (in != null) {
                return in;
            }
        }
        throw new FileNotFoundException(
                "resource " + resource + ": not on the class path; expected the model's jar there");
    }

    private String modelName() {
        if (name != null) {
            return name;
        }
        String file = folder == null ? String.valueOf(onnx) : String.valueOf(folder.getFileName());
        return file.endsWith(".onnx") ? file.substring(0, file.length() - ".onnx".length()) : file;
    }
}
