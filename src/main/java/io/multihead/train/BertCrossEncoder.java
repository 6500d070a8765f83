package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.encoder.run.PairFormat;
import io.multihead.internal.load.ModelFolder;
import io.multihead.nn.Dropout;
import io.multihead.nn.Gradients;
import io.multihead.nn.Layer;
import io.multihead.nn.Linear;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A cross-encoder of trainable layers: a BERT encoder that reads two texts as one sequence, and BERT's sequence classification head on the state
 * of the first token (Devlin et al. 2019, section 3). The head has one output, whose sigmoid is the probability that both texts belong together.
 * The model is trained on pairs with the binary cross-entropy, as in sentence-transformers' {@code BinaryCrossEntropyLoss}, and written as a
 * folder that {@code io.multihead.encoder.Reranker} and sentence-transformers load.
 *
 * <p>Parameters are f32 copies in an arena of the caller. {@link #scores} is thread-safe; parameters may change only while no call runs.
 */
public final class BertCrossEncoder {
    private static final String POOLER = "pooler.dense.";
    private static final String CLASSIFIER = "classifier.";

    private final BertLayers encoder;
    private final Map<String, Tensor> head;
    private final Map<String, Tensor> parameters;
    private final PairFormat format;
    private final Linear pooler;
    private final Layer classifier;

    private BertCrossEncoder(BertLayers encoder, Map<String, Tensor> head) {
        this.encoder = encoder;
        this.head = head;
        format = PairFormat.of(encoder.tokenizer(), encoder.sizes().types());
        pooler = Linear.of(get(POOLER + "weight"), get(POOLER + "bias"));
        Linear last = Linear.of(get(CLASSIFIER + "weight"), get(CLASSIFIER + "bias"));
        classifier = encoder.dropout() > 0
                ? Sequence.of(new Part("", Dropout.of(encoder.dropout())), new Part("", last))
                : last;
        Map<String, Tensor> all = new LinkedHashMap<>(encoder.parameters());
        all.putAll(head);
        parameters = Collections.unmodifiableMap(all);
    }

    private Tensor get(String name) {
        return Checks.notNull(head.get(name), name);
    }

    /**
     * Loads a cross-encoder with one label, or an encoder that {@link BertLayers#load} reads. An encoder gets a new head of normal random
     * numbers with a standard deviation of 0.02. The pooling layer is read if the folder has one.
     *
     * @param arena owns the parameters, which must stay open
     * @param folder a folder of transformers or sentence-transformers
     * @param seed the seed of a new head; the same seed gives the same head
     * @return the cross-encoder
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if the folder has another kind of model, several labels, or only one token type; the message names the
     *     setting
     */
    public static BertCrossEncoder load(Arena arena, Path folder, long seed) throws IOException {
        BertLayers encoder = BertLayers.load(arena, folder);
        int dim = encoder.sizes().dim();
        if (encoder.sizes().types() < 2) {
            throw Checks.fail("type_vocab_size", String.valueOf(encoder.sizes().types()), "expected 2, for two texts");
        }
        Map<String, Shape> shapes = new LinkedHashMap<>();
        shapes.put(POOLER + "weight", Shape.of(dim, dim));
        shapes.put(POOLER + "bias", Shape.of(dim));
        shapes.put(CLASSIFIER + "weight", Shape.of(1, dim));
        shapes.put(CLASSIFIER + "bias", Shape.of(1));
        Map<String, Tensor> head = BertSizes.drawn(shapes, arena, seed);
        ModelFolder.copy(folder, weights -> {
            head.forEach((name, to) -> {
                String stored = weights.names().contains("bert." + name) ? "bert." + name : name;
                if (weights.names().contains(stored)) {
                    TensorChecks.requireParameter(weights.get(stored), stored, to.shape())
                            .copyTo(to);
                }
            });
            return head;
        });
        return new BertCrossEncoder(encoder, head);
    }

    /**
     * Returns the same cross-encoder with dropout in training.
     *
     * @param rate probability to drop an element, 0 to 1; BERT's is 0.1
     * @return a cross-encoder that shares the parameters
     */
    public BertCrossEncoder withDropout(double rate) {
        return new BertCrossEncoder(encoder.withDropout(rate), head);
    }

    /**
     * {@return the parameters: {@link BertLayers#parameters}, then {@code pooler.dense.*} and {@code classifier.*}; an unmodifiable map of
     * f32 tensors, which an optimizer may change}
     */
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    /**
     * Returns gradients of zeros for all parameters, or for parameters of some names.
     *
     * @param arena owns the memory
     * @param trained selects the trained parameters by name
     * @return an unmodifiable map
     * @throws IllegalArgumentException if no parameter is selected
     */
    public Map<String, Tensor> gradients(Arena arena, Predicate<String> trained) {
        return BertLayers.gradients(arena, parameters, trained);
    }

    /**
     * Computes the logits of pairs, whose sigmoids are probabilities, without dropout.
     *
     * @param cpu threads and scratch
     * @param first texts of the pairs, one or more
     * @param second the same number of texts; in a pair with too many tokens, the longer text is
     *     truncated first
     * @return a logit for each pair
     */
    public float[] scores(Compute cpu, List<String> first, List<String> second) {
        TextBatch batch = batch(first, second);
        Tensor firsts = TextBatch.rows(encoder.states(cpu, batch), batch.firsts(), dim());
        Tensor pooled = zeros(first.size(), dim());
        Tensor logits = zeros(first.size(), 1);
        pooler.forward(cpu, firsts, pooled);
        classifier.forward(cpu, tanh(pooled), logits);
        return logits.toArray();
    }

    /**
     * Computes the loss, and adds its gradients.
     *
     * @param cpu threads and scratch
     * @param pairs texts, and whether they belong together
     * @param gradients the gradients by the names of the parameters; parameters without a gradient are frozen
     * @param seed the seed of dropout
     * @return the mean binary cross-entropy, in nats
     * @throws IllegalArgumentException if a gradient does not fit; nothing is written
     */
    public double learn(Compute cpu, Pairs pairs, Map<String, Tensor> gradients, long seed) {
        Checks.notNull(pairs, "pairs");
        new TensorChecks(cpu).reads(parameters).writesGradients(parameters, gradients);
        TextBatch batch = batch(pairs.first, pairs.second);
        int count = pairs.first.size();
        try (StatePass pass = encoder.record(cpu, batch, seed)) {
            Tensor firsts = TextBatch.rows(pass.states(), batch.firsts(), dim());
            Tensor pooled = zeros(count, dim());
            Tensor logits = zeros(count, 1);
            try (Pass first = pooler.record(cpu, firsts, pooled)) {
                Tensor curved = tanh(pooled);
                Tensor down = zeros(count, dim());
                double loss;
                try (Pass last = classifier.record(cpu, curved, logits, ~seed)) {
                    Tensor upstream = zeros(count, 1);
                    loss = loss(logits.toArray(), pairs.labels, upstream);
                    last.backward(upstream, down, Gradients.under(CLASSIFIER, gradients));
                }
                Tensor ofFirsts = zeros(count, dim());
                first.backward(throughTanh(down, curved), ofFirsts, Gradients.under(POOLER, gradients));
                pass.backward(batch.rowsGradient(ofFirsts, batch.firsts(), dim()), gradients);
                return loss;
            }
        }
    }

    /** Computes {@code log(1 + exp(x)) - label x} as a mean in double, and its gradient, {@code (sigmoid(x) - label) / n}. */
    private static double loss(float[] logits, float[] labels, Tensor gradient) {
        double loss = 0;
        for (int i = 0; i < logits.length; i++) {
            double x = logits[i];
            double tail = StrictMath.exp(-Math.abs(x));
            double sigmoid = (x >= 0 ? 1 : tail) / (1 + tail);
            loss += Math.max(x, 0) + StrictMath.log1p(tail) - labels[i] * x;
            gradient.set((sigmoid - labels[i]) / logits.length, i, 0);
        }
        return loss / logits.length;
    }

    private static Tensor tanh(Tensor rows) {
        float[] values = rows.toArray();
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) StrictMath.tanh(values[i]);
        }
        return Tensor.of(values, rows.shape().toArray());
    }

    private static Tensor throughTanh(Tensor gradient, Tensor curved) {
        float[] values = gradient.toArray();
        float[] outputs = curved.toArray();
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (values[i] * (1 - (double) outputs[i] * outputs[i]));
        }
        return Tensor.of(values, gradient.shape().toArray());
    }

    private static Tensor zeros(int rows, int columns) {
        return Tensor.of(new float[Checks.product("rows", rows, columns)], rows, columns);
    }

    private int dim() {
        return encoder.sizes().dim();
    }

    private TextBatch batch(List<String> first, List<String> second) {
        requirePairs(first, second);
        return TextBatch.ofPairs(encoder.tokenizer(), format, first, second, encoder.mostTokens());
    }

    private static void requirePairs(List<String> first, List<String> second) {
        Checks.noNulls(first, "first");
        Checks.length(Checks.noNulls(second, "second").size(), first.size(), "second", "as many as first");
        if (first.isEmpty()) {
            throw Checks.fail("first", "none", "expected one or more");
        }
    }

    /** Must be called after an optimizer has changed the parameters. */
    public void parametersChanged() {
        encoder.parametersChanged();
        pooler.parametersChanged();
        classifier.parametersChanged();
    }

    /**
     * Writes a folder in the format of transformers: {@code config.json} of {@code BertForSequenceClassification} with one label, the
     * weights as {@code model.safetensors}, and the tokenizer's files of the folder that was loaded, with the largest number of
     * tokens of a pair.
     *
     * @param folder created if it does not exist; not the folder that was loaded
     * @throws IOException if writing fails
     * @throws IllegalArgumentException if it is the folder that was loaded
     */
    public void save(Path folder) throws IOException {
        Path source = encoder.source();
        BertFolder.copyTokenizer(source, Checks.notNull(folder, "folder"));
        Map<String, @Nullable Object> settings = new LinkedHashMap<>(ModelFolder.config(source, JsonObject::members));
        settings.remove("dtype");
        settings.put("torch_dtype", "float32");
        settings.put("architectures", List.of("BertForSequenceClassification"));
        settings.put("id2label", Map.of("0", "LABEL_0"));
        settings.put("label2id", Map.of("LABEL_0", 0));
        JsonWriter.write(folder.resolve(ModelFolder.CONFIG), settings);
        Path tokenizer = folder.resolve("tokenizer_config.json");
        Map<String, @Nullable Object> own = new LinkedHashMap<>(
                ModelFolder.find(tokenizer, JsonObject::members).orElse(Map.of()));
        own.put("model_max_length", encoder.mostTokens());
        JsonWriter.write(tokenizer, own);
        Map<String, Tensor> weights = new LinkedHashMap<>();
        encoder.weights().forEach((name, tensor) -> weights.put("bert." + name, tensor));
        head.forEach((name, tensor) -> weights.put(name.startsWith(POOLER) ? "bert." + name : name, tensor));
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
    }

    /** Pairs of texts with labels. Immutable. */
    public static final class Pairs {
        private final List<String> first;
        private final List<String> second;
        private final float[] labels;

        private Pairs(List<String> first, List<String> second, float[] labels) {
            this.first = first;
            this.second = second;
            this.labels = labels;
        }

        /**
         * {@return pairs}
         *
         * @param first texts, one or more
         * @param second the same number of texts
         * @param labels the same number of labels: 1 if both texts belong together, 0 if not, or a
         *     probability between
         * @throws IllegalArgumentException if the lists differ in size or are empty, or a label is not 0 to 1
         */
        public static Pairs of(List<String> first, List<String> second, float[] labels) {
            requirePairs(first, second);
            Checks.length(Checks.notNull(labels, "labels").length, first.size(), "labels", "one per pair");
            for (float label : labels) {
                Checks.probability(label, "labels");
            }
            return new Pairs(List.copyOf(first), List.copyOf(second), labels.clone());
        }
    }
}
