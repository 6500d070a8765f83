package io.multihead.decoder;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.model.Embedder;
import io.multihead.model.Pooling;
import io.multihead.text.Tokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Computes vectors of texts with a language model, such as Qwen3-Embedding (Zhang et al. 2025). The states of a text's tokens after the
 * final normalization become one vector. The settings of the model determine the vector: the {@code modules.json} of sentence-transformers
 * in a folder, or {@code pooling_type} in a GGUF file. The default is the state of the last token, normalized to length 1.
 *
 * <p>Texts get the tokens that the model's file puts around them, such as the end token that these models expect. The bits of a vector do
 * not depend on the batch or on the number of threads. Thread-safe; embedders of one model compute one call at a time, and share scratch
 * memory, which the first call allocates. An embedder is valid until {@link LanguageModel#close}.
 */
public final class TextEmbedder implements Embedder {
    private static final List<Pooling> POOLINGS = List.of(Pooling.LAST, Pooling.MEAN, Pooling.CLS);
    private static final String QUERY = "query";
    private static final List<String> DOCUMENT = List.of("document", "passage", "corpus");

    private final Compute cpu;
    private final TextStates states;
    private final Tokenizer tokenizer;
    private final int contextTokens;
    private final EmbedderSettings settings;
    private final Pooling pooling;
    /** The default prefix of texts. */
    private final String defaultPrompt;

    TextEmbedder(Compute cpu, TextStates states, Tokenizer tokenizer, int contextTokens, EmbedderSettings settings) {
        this(cpu, states, tokenizer, contextTokens, settings, settings.prompt());
    }

    private TextEmbedder(
            Compute cpu,
            TextStates states,
            Tokenizer tokenizer,
            int contextTokens,
            EmbedderSettings settings,
            String defaultPrompt) {
        this.cpu = cpu;
        this.states = states;
        this.tokenizer = tokenizer;
        this.contextTokens = contextTokens;
        this.settings = settings;
        this.defaultPrompt = defaultPrompt;
        pooling = Checks.notNull(settings.pooling(), "pooling");
    }

    private TextEmbedder with(EmbedderSettings changed) {
        return new TextEmbedder(cpu, states, tokenizer, contextTokens, changed, defaultPrompt);
    }

    /**
     * {@return an embedder of the same model with another pooling}
     *
     * @param newPooling one of {@link Pooling#LAST}, {@link Pooling#MEAN} and {@link Pooling#CLS}
     * @throws IllegalArgumentException if the pooling is none of these
     */
    public TextEmbedder withPooling(Pooling newPooling) {
        if (!POOLINGS.contains(Checks.notNull(newPooling, "pooling"))) {
            throw Checks.fail("pooling", newPooling.toString(), "expected one of " + POOLINGS);
        }
        return with(settings.with(newPooling));
    }

    /**
     * {@return an embedder of the same model with vectors of length 1, or with vectors that are not normalized}
     *
     * @param normalized whether vectors have length 1
     */
    @Override
    public TextEmbedder withNormalization(boolean normalized) {
        return with(settings.withNormalized(normalized));
    }

    /**
     * {@return an embedder of the same model that puts a prompt before each text, such as {@code "query: "}}
     *
     * @param prompt the text, empty for none; its tokens are pooled like the tokens of the text
     */
    @Override
    public TextEmbedder withPrompt(String prompt) {
        return with(settings.withPrompt(Checks.notNull(prompt, "prompt")));
    }

    /** {@return an embedder of the same model with the folder's prompt for queries, or with its default prompt if the folder has none} */
    @Override
    public TextEmbedder forQueries() {
        return withPrompt(prompts().getOrDefault(QUERY, defaultPrompt));
    }

    /**
     * {@return an embedder of the same model with the folder's prompt for documents, named {@code document}, {@code passage} or {@code
     * corpus}, or with its default prompt if the folder has none}
     */
    @Override
    public TextEmbedder forDocuments() {
        return withPrompt(DOCUMENT.stream()
                .filter(prompts()::containsKey)
                .findFirst()
                .map(prompts()::get)
                .orElse(defaultPrompt));
    }

    /** {@return the prompts of the model's folder by name; empty if the folder has none} */
    @Override
    public Map<String, String> prompts() {
        return settings.prompts();
    }

    /** {@return the number of elements of a vector} */
    @Override
    public int dimension() {
        return states.dim();
    }

    /**
     * {@return the largest number of tokens of a text, including its prompt and special tokens: the context length of the model, or a lower
     * setting of its folder}
     */
    @Override
    public int maxTokens() {
        return settings.mostTokens() == 0 ? contextTokens : Math.min(contextTokens, settings.mostTokens());
    }

    /**
     * Counts the tokens of a text.
     *
     * @param text any text
     * @return the number of tokens of the text and its prompt, without the tokens around them
     */
    public int count(String text) {
        return tokenizer.count(settings.prompt() + Checks.notNull(text, "text"));
    }

    /**
     * Computes the vector of a text.
     *
     * @param text any text with at least one token
     * @return a new array
     * @throws IllegalArgumentException if the text has no token, or more than {@link #maxTokens}
     * @throws ArithmeticException if the vector of the text is not finite
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    @Override
    public float[] embed(String text) {
        return embed(List.of(Checks.notNull(text, "text")), "text")[0];
    }

    /**
     * Computes the vectors of texts, in batches.
     *
     * @param texts any texts with at least one token each
     * @return a new array for each text
     * @throws IllegalArgumentException if a text has no token, or more than {@link #maxTokens}; nothing is computed
     * @throws ArithmeticException if a vector is not finite; the message names the first such text
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    @Override
    public float[][] embed(List<String> texts) {
        return embed(Checks.noNulls(texts, "texts"), "texts[%]");
    }

    private float[][] embed(List<String> texts, String name) {
        List<int[]> all = new ArrayList<>();
        for (String text : texts) {
            int[] ids = tokenizer.withSpecialTokens(tokenizer.encode(settings.prompt() + text));
            requireRoom(ids, name(name, all.size()));
            all.add(ids);
        }
        return vectors(states.embed(cpu, all, pooling), name);
    }

    private void requireRoom(int[] ids, String name) {
        int most = maxTokens();
        if (ids.length == 0 || ids.length > most) {
            String expected = most == contextTokens ? "the context of " : "the folder's max_seq_length of ";
            throw Checks.fail(name, ids.length + " tokens", "expected 1 to " + expected + most);
        }
    }

    /**
     * Computes vectors of consecutive parts of one text, which the model reads as a whole. The vector of a part therefore depends on the
     * earlier parts, too (late chunking, Guenther et al. 2024). The vector of a part is the mean of the states of its tokens, independent
     * of the pooling of this embedder. It has length 1 if vectors of texts have length 1. The model also reads the prompt and the special
     * tokens around the text, which belong to no part. A token that crosses a border belongs to the part with its last byte.
     *
     * @param chunks the parts of a text in their order, including the spaces between them; their concatenation is the text
     * @return a new array for each part
     * @throws IllegalArgumentException if a part has no token, the parts together have more than {@link #maxTokens}, or the tokenizer
     *     changes characters of the text; nothing is computed
     * @throws ArithmeticException if a vector is not finite; the message names the first such part
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public float[][] embedChunks(List<String> chunks) {
        List<String> parts = Checks.noNulls(chunks, "chunks");
        if (parts.isEmpty()) {
            return new float[0][];
        }
        ChunkBorders chunked = new ChunkBorders(tokenizer, settings.prompt(), parts);
        int[] text = tokenizer.withSpecialTokens(chunked.ids);
        requireRoom(text, "chunks");
        int before = tokenizer.specialIds().added().begin() ? 1 : 0;
        int[] borders =
                Arrays.stream(chunked.find()).map(border -> before + border).toArray();
        return vectors(states.means(cpu, text, borders), "chunks[%]");
    }

    private float[][] vectors(double[][] means, String name) {
        float[][] vectors = new float[means.length][];
        for (int i = 0; i < vectors.length; i++) {
            vectors[i] = vector(means[i]);
            if (vectors[i].length == 0) {
                throw new ArithmeticException(name(name, i) + ": a vector that is not finite; expected finite numbers,"
                        + " which the model does not compute for its tokens");
            }
        }
        return vectors;
    }

    private static String name(String name, int index) {
        return name.replace("%", String.valueOf(index));
    }

    /** Returns a vector, normalized if the options require it. The vector has no elements if a number is not finite. */
    private float[] vector(double[] mean) {
        double squares = 0;
        for (double element : mean) {
            squares += element * element;
        }
        if (!Double.isFinite(squares)) {
            return new float[0];
        }
        double length = settings.normalized() && squares > 0 ? Math.sqrt(squares) : 1;
        float[] vector = new float[mean.length];
        for (int i = 0; i < mean.length; i++) {
            vector[i] = (float) (mean[i] / length);
        }
        return vector;
    }
}
