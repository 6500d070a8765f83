package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.load.ModelFolder;
import io.multihead.nn.CrossEntropy;
import io.multihead.nn.Gelu;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Linear;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A masked language model (Devlin et al. 2019, section 3.1) of trainable layers: a BERT encoder, and the head {@code cls.predictions} on the
 * states of masked tokens, whose last layer is the word embedding table. It reads a folder of {@code BertForMaskedLM} and writes such a
 * folder, which {@link BertLayers}, {@code io.multihead.encoder.SparseEncoder} and transformers load.
 *
 * <p>Parameters are f32 copies in an arena of the caller, and may change only while no call runs; calls that only read them are thread-safe.
 */
public final class BertMaskedModel {
    private static final String HEAD = "cls.predictions.";
    private static final String TRANSFORM = HEAD + "transform.";
    private static final String BIAS = HEAD + "bias";
    private static final String DECODER = HEAD + "decoder.weight";

    private final BertLayers encoder;
    private final Map<String, Tensor> head;
    private final Map<String, Tensor> parameters;
    private final Sequence layers;

    private BertMaskedModel(BertLayers encoder, Map<String, Tensor> head) {
        this.encoder = encoder;
        this.head = head;
        Map<String, Tensor> all = new LinkedHashMap<>(encoder.parameters());
        all.putAll(head);
        parameters = Collections.unmodifiableMap(all);
        BertSizes sizes = encoder.sizes();
        LayerNorm norm = LayerNorm.of(
                Shape.of(sizes.dim()),
                sizes.epsilon(),
                get(TRANSFORM + "LayerNorm.weight"),
                get(TRANSFORM + "LayerNorm.bias"));
        layers = Sequence.of(
                new Part(
                        TRANSFORM + "dense.",
                        Linear.of(get(TRANSFORM + "dense.weight"), get(TRANSFORM + "dense.bias"))),
                new Part("", Gelu.erf()),
                new Part(TRANSFORM + "LayerNorm.", norm),
                new Part(HEAD + "decoder.", Linear.of(get(BertSizes.WORDS), get(BIAS))));
    }

    private Tensor get(String name) {
        return Checks.notNull(parameters.get(name), name);
    }

    /**
     * Loads a folder of {@code BertForMaskedLM}.
     *
     * @param arena owns the parameters, which must stay open
     * @param folder a folder of transformers; {@link #save} copies its other files
     * @return the model
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if the folder has another kind of model, or a last layer that is not the word embedding table; the
     *     message names the setting
     */
    public static BertMaskedModel load(Arena arena, Path folder) throws IOException {
        BertLayers encoder = BertLayers.load(arena, folder);
        int dim = encoder.sizes().dim();
        boolean tied = ModelFolder.config(folder, json -> json.flag("tie_word_embeddings", true));
        if (!tied) {
            throw Checks.fail(
                    folder + ": config.tie_word_embeddings", "false", "expected a head that is the table of words");
        }
        Map<String, Shape> shapes = new LinkedHashMap<>();
        shapes.put(TRANSFORM + "dense.weight", Shape.of(dim, dim));
        shapes.put(TRANSFORM + "dense.bias", Shape.of(dim));
        shapes.put(TRANSFORM + "LayerNorm.weight", Shape.of(dim));
        shapes.put(TRANSFORM + "LayerNorm.bias", Shape.of(dim));
        shapes.put(BIAS, Shape.of(encoder.sizes().vocabulary()));
        Map<String, Tensor> head = ModelFolder.copy(folder, weights -> {
            Map<String, Tensor> copies = new LinkedHashMap<>();
            shapes.forEach((name, shape) -> {
                String stored = name.equals(BIAS) && !weights.names().contains(name) ? HEAD + "decoder.bias" : name;
                Tensor from = weights.names().contains(stored) ? weights.get(stored) : null;
                copies.put(
                        name, TensorChecks.requireParameter(from, stored, shape).copy(arena, DType.F32));
            });
            requireTied(encoder, weights.names().contains(DECODER) ? weights.get(DECODER) : null);
            return copies;
        });
        return new BertMaskedModel(encoder, head);
    }

    /** Fails if the last layer, which files may have in addition to the word embedding table, is another matrix. */
    private static void requireTied(BertLayers encoder, @Nullable Tensor decoder) {
        Tensor words = Checks.notNull(encoder.parameters().get(BertSizes.WORDS), BertSizes.WORDS);
        if (decoder == null) {
            return;
        }
        TensorChecks.requireParameter(decoder, DECODER, words.shape());
        for (long row = 0; row < words.dim(0); row++) { // rows are compared one by one, without a copy of the table
            float[] own = decoder.select(0, row).toArray();
            float[] table = words.select(0, row).toArray();
            for (int i = 0; i < own.length; i++) {
                if (own[i] != table[i]) {
                    throw Checks.fail(
                            DECODER, "not the table of words", "expected the same, as tie_word_embeddings says");
                }
            }
        }
    }

    /**
     * Returns the same model with dropout in training.
     *
     * @param rate probability to drop an element, 0 to 1; BERT's is 0.1
     * @return a model that shares the parameters
     */
    public BertMaskedModel withDropout(double rate) {
        return new BertMaskedModel(encoder.withDropout(rate), head);
    }

    /** {@return the encoder, which shares the parameters} */
    public BertLayers encoder() {
        return encoder;
    }

    /**
     * {@return the parameters: {@link BertLayers#parameters}, then the parameters of the head under transformers' names; an unmodifiable
     * map of f32 tensors, which an optimizer may change}. The last layer's matrix is the word embedding table.
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
     * Computes the loss of a batch, and adds its gradients. The head is computed only for the target tokens.
     *
     * @param cpu threads and scratch
     * @param windows from {@link TokenWindows#masked}
     * @param gradients the gradients by the names of the parameters; parameters without a gradient are frozen
     * @param seed the seed of dropout
     * @return the mean cross-entropy of a target token, in nats; 0 if there is no target
     * @throws IllegalArgumentException if windows are too long or have other ids, or a gradient does not fit; nothing is written
     */
    public double learn(Compute cpu, TokenWindows windows, Map<String, Tensor> gradients, long seed) {
        Chosen chosen = new Chosen(windows);
        new TensorChecks(cpu).reads(parameters).writesGradients(parameters, gradients);
        if (chosen.rows.length == 0) {
            return 0;
        }
        int dim = encoder.sizes().dim();
        try (StatePass pass = encoder.record(cpu, chosen.batch, seed)) {
            Tensor states = TextBatch.rows(pass.states(), chosen.rows, dim);
            Tensor logits = chosen.logits();
            Tensor down = Tensor.of(new float[chosen.rows.length * dim], chosen.rows.length, dim);
            double loss;
            try (Pass ofHead = layers.record(cpu, states, logits)) {
                Tensor upstream = chosen.logits();
                loss = CrossEntropy.of().lossAndGradient(cpu, logits, chosen.targets, upstream);
                Map<String, Tensor> own = new LinkedHashMap<>(gradients);
                rename(gradients, BertSizes.WORDS, own, DECODER);
                rename(gradients, BIAS, own, HEAD + "decoder.bias");
                ofHead.backward(upstream, down, own);
            }
            pass.backward(chosen.batch.rowsGradient(down, chosen.rows, dim), gradients);
            return loss;
        }
    }

    private static void rename(Map<String, Tensor> from, String name, Map<String, Tensor> to, String other) {
        Tensor tensor = from.get(name);
        if (tensor != null) {
            to.put(other, tensor);
        }
    }

    /**
     * Computes the loss of a batch without dropout and gradients.
     *
     * @param cpu threads and scratch
     * @param windows from {@link TokenWindows#masked}
     * @return the mean cross-entropy of a target token, in nats; 0 if there is no target
     * @throws IllegalArgumentException if windows are too long or have other ids
     */
    public double loss(Compute cpu, TokenWindows windows) {
        Chosen chosen = new Chosen(windows);
        if (chosen.rows.length == 0) {
            return 0;
        }
        Tensor states = TextBatch.rows(
                encoder.states(cpu, chosen.batch), chosen.rows, encoder.sizes().dim());
        Tensor logits = chosen.logits();
        layers.forward(cpu, states, logits);
        return CrossEntropy.of().forward(cpu, logits, chosen.targets);
    }

    /** The windows as sequences, and their target tokens. */
    private final class Chosen {
        private final TextBatch batch;
        private final int[] rows;
        private final int[] targets;

        Chosen(TokenWindows windows) {
            Tensor ids = Checks.notNull(windows, "windows").ids();
            int length = (int) ids.dim(1);
            int most = encoder.sizes().positions();
            if (length > most) {
                throw Checks.fail("windows", length + " tokens", "expected at most the model's " + most + " positions");
            }
            int[][] each = new int[(int) ids.dim(0)][length];
            float[] numbers = ids.toArray();
            for (int i = 0; i < numbers.length; i++) {
                each[i / length][i % length] = (int) numbers[i];
            }
            batch = TextBatch.of(each, new int[each.length][]);
            int[] all = windows.targets();
            rows = IntStream.range(0, all.length)
                    .filter(i -> all[i] != TokenWindows.IGNORED)
                    .toArray();
            targets = IntStream.of(rows).map(row -> all[row]).toArray();
        }

        private Tensor logits() {
            int vocabulary = encoder.sizes().vocabulary();
            return Tensor.of(new float[Checks.product("windows", rows.length, vocabulary)], rows.length, vocabulary);
        }
    }

    /** Must be called after an optimizer has changed the parameters. */
    public void parametersChanged() {
        encoder.parametersChanged();
        layers.parametersChanged();
    }

    /**
     * Writes a folder: the weights as {@code model.safetensors} by the names of {@code BertForMaskedLM}, and copies of the settings and
     * tokenizer files of the folder that was loaded.
     *
     * @param folder created if it does not exist; not the folder that was loaded
     * @throws IOException if writing fails
     * @throws IllegalArgumentException if it is the folder that was loaded
     */
    public void save(Path folder) throws IOException {
        BertFolder.copy(encoder.source(), Checks.notNull(folder, "folder"));
        Map<String, Tensor> weights = new LinkedHashMap<>();
        encoder.weights().forEach((name, tensor) -> weights.put("bert." + name, tensor));
        weights.putAll(head);
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
    }
}
