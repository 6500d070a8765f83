package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.format.SafetensorsFolder;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.TensorMath;
import io.multihead.nn.Dropout;
import io.multihead.nn.Embedding;
import io.multihead.nn.Layer;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A BERT encoder (Devlin et al. 2019) of trainable layers. It converts each text to the mean of the states of its tokens. MiniLM, bge-small,
 * e5-small and other sentence encoders have this architecture. The encoder reads the weights of a folder that transformers or sentence-transformers
 * wrote, and writes such a folder, which {@code io.multihead.encoder.SentenceEncoder} and sentence-transformers load.
 *
 * <p>The parameters are f32 copies in an arena of the caller. Texts of a batch are packed one after another, without padding. Dropout, which is 0 by
 * default, applies as in {@link TransformerBlock}, and after the norm of embeddings. Unlike these layers, transformers has no dropout between the
 * two products of a feed-forward layer. {@link #embed} is thread-safe; parameters may change only while no call runs.
 */
public final class BertLayers {
    private static final String NORM = "embeddings.LayerNorm.";
    private static final String BLOCKS = "encoder.layer.";

    private final BertSizes sizes;
    private final EncoderTokenizer tokenizer;
    private final int mostTokens;
    private final Path source;
    private final Map<String, Tensor> parameters;
    private final double dropout;
    private final LayerNorm norm;
    private final List<TransformerBlock> blocks = new ArrayList<>();

    private BertLayers(
            BertSizes sizes,
            EncoderTokenizer tokenizer,
            int mostTokens,
            Path source,
            Map<String, Tensor> parameters,
            double dropout) {
        this.sizes = sizes;
        this.tokenizer = tokenizer;
        this.mostTokens = mostTokens;
        this.source = source;
        this.parameters = parameters;
        this.dropout = dropout;
        norm = LayerNorm.of(Shape.of(sizes.dim()), sizes.epsilon(), get(NORM + "weight"), get(NORM + "bias"));
        MultiHeadConfig attention =
                MultiHeadConfig.of(sizes.dim(), sizes.heads()).withDropout(dropout);
        TransformerBlock.Config config = TransformerBlock.Config.of(sizes.dim(), sizes.heads(), sizes.inner())
                .withAttention(attention)
                .withActivation(Activation.GELU)
                .withEpsilon(sizes.epsilon())
                .withDropout(dropout);
        for (int layer = 0; layer < sizes.layers(); layer++) {
            String prefix = BLOCKS + layer + ".";
            blocks.add(TransformerBlock.of(config, name -> parameters.get(prefix + name)));
        }
    }

    private Tensor get(String name) {
        return Checks.notNull(parameters.get(name), name);
    }

    /**
     * Loads the encoder of a folder: {@code config.json} of model type {@code bert}, weights in safetensors, and the tokenizer. If there is a
     * {@code modules.json}, vectors must be means of tokens, normalized or not.
     *
     * @param arena owns the parameters, which must stay open
     * @param folder written by transformers or sentence-transformers; {@link #save} copies its other files
     * @return the encoder
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if the folder has another kind of model, or a setting that these layers do not have; the message names
     *     the file and the setting
     */
    public static BertLayers load(Arena arena, Path folder) throws IOException {
        Checks.notNull(arena, "arena");
        Checks.notNull(folder, "folder");
        return Downloads.withCommand(folder, () -> read(arena, folder));
    }

    private static BertLayers read(Arena arena, Path folder) throws IOException {
        BertFolder files = BertFolder.read(folder);
        try (Arena mapped = Arena.ofConfined()) {
            SafetensorsFolder weights = SafetensorsFolder.map(mapped, folder);
            return Checks.in(folder, () -> {
                String prefix = weights.names().contains(BertSizes.WORDS) ? "" : "bert.";
                Function<String, @Nullable Tensor> source =
                        name -> weights.names().contains(prefix + name) ? weights.get(prefix + name) : null;
                return new BertLayers(
                        files.sizes(),
                        files.tokenizer(),
                        files.mostTokens(),
                        folder,
                        copies(files.sizes(), source, arena),
                        0);
            });
        }
    }

    /** Copies weights with transformers' names to parameters with the layers' names. */
    private static Map<String, Tensor> copies(
            BertSizes sizes, Function<String, @Nullable Tensor> weights, Arena arena) {
        Map<String, Tensor> copies = new LinkedHashMap<>();
        sizes.parameters().forEach((name, shape) -> copies.put(name, Tensor.allocate(arena, DType.F32, shape)));
        Map<String, Tensor> named = views(copies);
        Checks.length(named.size(), sizes.weights(), "weights", "as of this many layers");
        named.forEach((name, to) -> TensorChecks.requireParameter(weights.apply(name), name, to.shape())
                .copyTo(to));
        return Collections.unmodifiableMap(copies);
    }

    /** Returns views of the parameters by transformers' names. */
    private static Map<String, Tensor> views(Map<String, Tensor> parameters) {
        Map<String, Tensor> named = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> {
            int part = 0;
            for (String theirs : BertSizes.theirNames(name)) {
                long rows = tensor.dim(0) / BertSizes.theirNames(name).size();
                named.put(theirs, tensor.slice(0, part * rows, (part + 1) * rows));
                part++;
            }
        });
        return Collections.unmodifiableMap(named);
    }

    /**
     * Returns the same encoder with dropout in training.
     *
     * @param rate probability to drop an element, 0 to 1; BERT's is 0.1
     * @return an encoder that shares the parameters
     */
    public BertLayers withDropout(double rate) {
        Checks.probability(rate, "rate");
        return new BertLayers(sizes, tokenizer, mostTokens, source, parameters, rate);
    }

    /**
     * {@return the parameters: embeddings under transformers' names, and blocks under the names of {@link TransformerBlock} after prefixes such as
     * {@code encoder.layer.0.}; an unmodifiable map of f32 tensors, which an optimizer may change}
     */
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    /** {@return the weights under transformers' names: views of the parameters, in an unmodifiable map} */
    public Map<String, Tensor> weights() {
        return views(parameters);
    }

    /**
     * Returns gradients by the names of {@link #weights()}.
     *
     * @param gradients the gradients by the names of {@link #parameters()}
     * @return views of the gradients, in an unmodifiable map
     */
    public Map<String, Tensor> weights(Map<String, Tensor> gradients) {
        return views(Checks.notNull(gradients, "gradients"));
    }

    /** {@return the number of elements of a vector} */
    public int dim() {
        return sizes.dim();
    }

    /**
     * Returns gradients of zeros for all parameters, or for parameters of some names. Parameters without a gradient do not change.
     *
     * @param arena owns the memory
     * @param trained selects the trained parameters by name
     * @return an unmodifiable map
     * @throws IllegalArgumentException if no parameter is selected
     */
    public Map<String, Tensor> gradients(Arena arena, Predicate<String> trained) {
        return gradients(arena, parameters, trained);
    }

    static Map<String, Tensor> gradients(Arena arena, Map<String, Tensor> parameters, Predicate<String> trained) {
        Checks.notNull(trained, "trained");
        Map<String, Tensor> zeros = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> {
            if (trained.test(name)) {
                zeros.put(name, Tensor.allocate(Checks.notNull(arena, "arena"), DType.F32, tensor.shape()));
            }
        });
        if (zeros.isEmpty()) {
            throw Checks.fail(
                    "trained",
                    "true for no parameter",
                    "expected true for some of " + String.join(", ", parameters.keySet()));
        }
        return Collections.unmodifiableMap(zeros);
    }

    /**
     * Computes vectors, without dropout.
     *
     * @param cpu threads and scratch
     * @param texts one or more texts; long texts are truncated, as in sentence-transformers
     * @return new tensor {@code [texts, dim]} on the heap: the means of states, not normalized
     */
    public Tensor embed(Compute cpu, List<String> texts) {
        TextBatch batch = batch(texts);
        return batch.means(states(cpu, batch), sizes.dim());
    }

    /** Computes the states of tokens, without dropout. */
    Tensor states(Compute cpu, TextBatch batch) {
        Tensor states = Tensor.of(new float[batch.elements(sizes.dim())], batch.tokens(), sizes.dim());
        layers(batch, 0).forward(cpu, sum(cpu, batch), states);
        return states;
    }

    /**
     * Computes vectors as in training.
     *
     * @param cpu threads and scratch, for backward too
     * @param texts one or more
     * @param seed the seed of dropout
     * @return the vectors, and their gradients
     */
    public BertPass record(Compute cpu, List<String> texts, long seed) {
        return new BertPass(record(cpu, batch(texts), seed));
    }

    /** Computes the states of tokens as in training. */
    StatePass record(Compute cpu, TextBatch batch, long seed) {
        Map<String, Embedding> tables = new LinkedHashMap<>();
        for (String name : List.of(BertSizes.WORDS, BertSizes.POSITIONS, BertSizes.TYPES)) {
            tables.put(name, table(name));
        }
        return new StatePass(cpu, tables, batch, layers(batch, dropout), sum(cpu, batch), seed);
    }

    private TextBatch batch(List<String> texts) {
        return TextBatch.of(tokenizer, Checks.noNulls(texts, "texts"), mostTokens);
    }

    private Sequence layers(TextBatch batch, double rate) {
        List<Layer> packed = new ArrayList<>();
        blocks.forEach(block -> packed.add(block.withSequences(batch.sequences())));
        List<Part> parts = new ArrayList<>(List.of(new Part(NORM, norm)));
        if (rate > 0) {
            parts.add(new Part("", Dropout.of(rate)));
        }
        parts.add(new Part("", Sequence.of(BLOCKS, packed)));
        return Sequence.of(parts.toArray(Part[]::new));
    }

    /** Returns the sum of the rows of all three tables for each token. */
    private Tensor sum(Compute cpu, TextBatch batch) {
        Tensor sum = Tensor.of(new float[batch.elements(sizes.dim())], batch.tokens(), sizes.dim());
        Tensor addend = Tensor.of(new float[batch.elements(sizes.dim())], batch.tokens(), sizes.dim());
        table(BertSizes.WORDS).forward(cpu, batch.ids(), sum);
        table(BertSizes.POSITIONS).forward(cpu, batch.positions(), addend);
        TensorMath.add(cpu, sum, addend, sum);
        table(BertSizes.TYPES).forward(cpu, batch.types(), addend);
        TensorMath.add(cpu, sum, addend, sum);
        return sum;
    }

    private Embedding table(String name) {
        return Embedding.of(get(name));
    }

    EncoderTokenizer tokenizer() {
        return tokenizer;
    }

    /** Returns the largest number of tokens of a sequence. */
    int mostTokens() {
        return mostTokens;
    }

    BertSizes sizes() {
        return sizes;
    }

    double dropout() {
        return dropout;
    }

    Path source() {
        return source;
    }

    /** Must be called after an optimizer has changed the parameters. */
    public void parametersChanged() {
        blocks.forEach(Layer::parametersChanged);
    }

    /**
     * Writes the weights under transformers' names, in f32.
     *
     * @param file the file to write or to replace; it appears under its name only when it is
     *     complete
     * @throws IOException if writing fails; an existing file is then unchanged
     */
    public void writeWeights(Path file) throws IOException {
        Safetensors.write(Checks.notNull(file, "file"), weights(), Map.of("format", "pt"));
    }

    /**
     * Writes a folder: copies of the settings and tokenizer files of the folder that the encoder was loaded from, and then the weights as
     * {@code model.safetensors}.
     *
     * @param folder created if it does not exist; not the folder that the encoder was loaded from
     * @throws IOException if writing fails
     * @throws IllegalArgumentException if it is the folder that the encoder was loaded from
     */
    public void save(Path folder) throws IOException {
        BertFolder.copy(source, Checks.notNull(folder, "folder"));
        writeWeights(folder.resolve("model.safetensors"));
    }
}
