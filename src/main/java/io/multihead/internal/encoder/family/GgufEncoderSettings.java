package io.multihead.internal.encoder.family;

import static io.multihead.internal.encoder.family.EncoderLimits.LEAST_POSITIONS;
import static io.multihead.internal.encoder.family.EncoderLimits.MOST;

import io.multihead.format.Gguf;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderLimits.Named;
import io.multihead.internal.encoder.family.RotaryEncoderConfig.Sizes;
import io.multihead.internal.load.UnreadSettings;
import io.multihead.model.Pooling;
import java.lang.System.Logger.Level;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The settings of an encoder in llama.cpp's GGUF, whose keys begin with the architecture's name; missing settings have llama.cpp's values.
 * A setting that would change results and is not implemented is an error that names the key.
 */
public final class GgufEncoderSettings {
    private static final String ARCHITECTURE = "general.architecture";
    private static final String TOKENS = "tokenizer.ggml.tokens";
    public static final String TYPES = "tokenizer.ggml.token_type_count";
    private static final String DIM = "embedding_length";
    private static final String INNER = "feed_forward_length";
    private static final String LAYERS = "block_count";
    private static final String HEADS = "attention.head_count";
    private static final String POSITIONS = "context_length";
    private static final String EPSILON = "attention.layer_norm_epsilon";
    private static final String WINDOW = "attention.sliding_window";
    private static final String PATTERN = "attention.sliding_window_pattern";
    private static final String ACTIVATION = "hidden_activation";
    private static final String ROPE_DIMS = "rope.dimension_count";
    private static final String THETA = "rope.freq_base";
    private static final String LOCAL_THETA = "rope.freq_base_swa";
    private static final String SCALING = "rope.scaling.type";
    private static final String FACTOR = "rope.scaling.factor";
    private static final String POOLING = "pooling_type";
    private static final String LABELS = "classifier.output_labels";

    /** llama.cpp's rotation base for files without one. */
    private static final double DEFAULT_THETA = 10_000;
    /** llama.cpp's distance between global layers. */
    private static final int DEFAULT_PATTERN = 3;

    /** Keys that are read, or whose values also follow from tensors. */
    private static final Set<String> KNOWN = Set.of(
            DIM,
            INNER,
            LAYERS,
            HEADS,
            POSITIONS,
            EPSILON,
            POOLING,
            LABELS,
            "attention.head_count_kv",
            "attention.key_length",
            "attention.value_length",
            "vocab_size",
            "tensor_data_layout");

    private static final Set<String> ROTARY = Set.of(ROPE_DIMS, THETA, SCALING, FACTOR);
    private static final Set<String> LOCAL = Set.of(WINDOW, PATTERN, LOCAL_THETA, ACTIVATION);

    /** Settings, each with its value that has no effect. */
    private static final Map<String, Object> NEUTRAL = Collections.unmodifiableMap(new TreeMap<>(Map.ofEntries(
            Map.entry("attention.causal", false),
            Map.entry("attention.clamp_kqv", 0),
            Map.entry("attention.max_alibi_bias", 0),
            Map.entry("attention.scale", 0),
            Map.entry("attn_logit_softcapping", 0),
            Map.entry("embedding_scale", 1),
            Map.entry("residual_scale", 1),
            Map.entry("expert_count", 0),
            Map.entry("expert_used_count", 0),
            Map.entry("moe_every_n_layers", 0),
            Map.entry("rope.scale_linear", 1),
            Map.entry("use_parallel_residual", false))));

    private static final Map<Long, Pooling> POOLINGS = Map.of(1L, Pooling.MEAN, 2L, Pooling.CLS, 3L, Pooling.LAST);
    private static final int RANK = 4;

    private static final System.Logger LOGGER = System.getLogger("io.multihead");

    private final Gguf file;
    private final Object place;
    private final String architecture;

    /**
     * Reads a file.
     *
     * @param place its path, for warnings
     */
    public GgufEncoderSettings(Gguf file, Object place) {
        this.file = file;
        this.place = place;
        architecture = file.string(ARCHITECTURE);
    }

    public GgufNames names() {
        return switch (architecture) {
            case "bert" -> GgufNames.BERT;
            case "nomic-bert" -> GgufNames.NOMIC;
            case "modern-bert" -> GgufNames.MODERN;
            default ->
                throw file.fail(
                        ARCHITECTURE, "bert, nomic-bert or modern-bert; LanguageModel.load reads language models");
        };
    }

    public EncoderConfig config() {
        EncoderConfig config = names() == GgufNames.BERT ? bert() : names() == GgufNames.NOMIC ? nomic() : modern();
        NEUTRAL.forEach((name, neutral) -> UnreadSettings.requireNeutral(file, key(name), neutral));
        requireEqual("attention.head_count_kv", config.heads());
        requireEqual("attention.key_length", config.dim() / config.heads());
        requireEqual("attention.value_length", config.dim() / config.heads());
        requireEqual("vocab_size", config.vocabulary());
        UnreadSettings.warn(
                file,
                place,
                architecture,
                name -> KNOWN.contains(name)
                        || NEUTRAL.containsKey(name)
                        || names() != GgufNames.BERT && ROTARY.contains(name)
                        || names() == GgufNames.MODERN && LOCAL.contains(name));
        return config;
    }

    private BertConfig bert() {
        Sizes sizes = sizes();
        EncoderLimits.requireBatch(
                new Named(key(POSITIONS), sizes.positions()),
                new Named(key(DIM), sizes.dim()),
                new Named(key(INNER), sizes.inner()),
                1);
        // RoBERTa's rows before the row of the first token are not in the file
        return new BertConfig(
                sizes.dim(),
                sizes.layers(),
                sizes.heads(),
                sizes.inner(),
                sizes.vocabulary(),
                sizes.positions(),
                types(),
                epsilon());
    }

    private NomicBertConfig nomic() {
        Sizes sizes = rotated();
        return new NomicBertConfig(
                sizes,
                types(),
                epsilon(),
                new NomicBertConfig.Rotation(theta(THETA, DEFAULT_THETA), false),
                Activation.SILU,
                new NomicBertConfig.Biases(false, false, false));
    }

    private ModernBertConfig modern() {
        Sizes sizes = rotated();
        if (!file.findString(key(ACTIVATION)).orElse("gelu").equals("gelu")) {
            throw fail(ACTIVATION, "gelu");
        }
        int window = has(WINDOW) ? integer(WINDOW, 0, MOST) : 0;
        int every = has(PATTERN) ? integer(PATTERN, 1, MOST) : DEFAULT_PATTERN;
        List<Boolean> local = IntStream.range(0, sizes.layers())
                .mapToObj(layer -> window > 0 && layer % every != 0)
                .toList();
        double global = theta(THETA, DEFAULT_THETA);
        if (local.contains(true) && !has(LOCAL_THETA)) {
            throw fail(LOCAL_THETA, "a number above 1, as some layers are local");
        }
        return new ModernBertConfig(
                sizes,
                epsilon(),
                local,
                window / 2,
                global,
                theta(LOCAL_THETA, global),
                new ModernBertConfig.Biases(false, false, false, false),
                true);
    }

    private Sizes sizes() {
        Sizes sizes = new Sizes(
                integer(DIM, 1, MOST),
                integer(LAYERS, 1, file.names().size()), // each layer has tensors
                integer(HEADS, 1, MOST),
                integer(INNER, 1, MOST),
                (int) Math.min(file.value(TOKENS).length(), MOST),
                integer(POSITIONS, LEAST_POSITIONS, MOST));
        if (sizes.dim() % sizes.heads() != 0) {
            throw fail(HEADS, "a divisor of the " + sizes.dim() + " elements of a vector");
        }
        return sizes;
    }

    private Sizes rotated() {
        Sizes sizes = sizes().checked(key(DIM), key(INNER), key(POSITIONS));
        requireEqual(ROPE_DIMS, sizes.dim() / sizes.heads());
        String scaling = file.findString(key(SCALING)).orElse("none");
        if (!scaling.equals("none") && !(scaling.equals("linear") && factor() == 1)) {
            throw fail(SCALING, "none");
        }
        return sizes;
    }

    private double factor() {
        return file.findReal(key(FACTOR)).orElse(1);
    }

    private int types() {
        long types = file.integer(TYPES);
        if (types < 1 || types > MOST) {
            throw file.fail(TYPES, "1 to " + MOST);
        }
        return (int) types;
    }

    /** Returns the decimal number whose nearest float the file contains. */
    private double epsilon() {
        double stored = file.real(key(EPSILON));
        if (!(stored >= 0 && stored < Double.POSITIVE_INFINITY)) {
            throw fail(EPSILON, "a finite number of at least 0");
        }
        return Double.parseDouble(Float.toString((float) stored));
    }

    private double theta(String name, double otherwise) {
        OptionalDouble stored = file.findReal(key(name));
        double theta = stored.orElse(otherwise);
        if (!(theta > 1 && theta <= Float.MAX_VALUE)) {
            throw fail(name, "a number above 1");
        }
        return theta;
    }

    /** Returns the function from token states to one vector. */
    public Pooling pooling() {
        OptionalLong type = file.findInteger(key(POOLING));
        if (type.isEmpty()) {
            LOGGER.log(Level.WARNING, place + ": no " + key(POOLING) + "; pooling is the mean");
            return Pooling.MEAN;
        }
        Pooling pooling = POOLINGS.get(type.getAsLong());
        if (pooling == null) {
            String more = type.getAsLong() == RANK ? ", or a Reranker for this file" : "";
            throw fail(POOLING, "1 (mean), 2 (cls) or 3 (last)" + more);
        }
        return pooling;
    }

    /** Returns the number of labels of a cross-encoder's head: 1 if the file names no labels. */
    public int labels() {
        OptionalLong type = file.findInteger(key(POOLING));
        if (type.isPresent() && type.getAsLong() != RANK) {
            throw fail(POOLING, RANK + " (rank), or a SentenceEncoder for this file");
        }
        String head = GgufNames.HEAD + ".weight";
        if (!file.contains(head)) {
            throw Checks.fail(
                    "tensor \"" + head + "\"",
                    "not in the file",
                    "expected a cross-encoder's first layer; converters omit this layer of BERT's classifiers");
        }
        if (!has(LABELS)) {
            return 1;
        }
        int labels = file.strings(key(LABELS)).size();
        if (labels < 1) {
            throw fail(LABELS, "one label or more");
        }
        return labels;
    }

    private String key(String name) {
        return architecture + "." + name;
    }

    private boolean has(String name) {
        return file.find(key(name)).isPresent();
    }

    private int integer(String name, int least, int most) {
        long value = file.integer(key(name));
        if (value < least || value > most) {
            throw fail(name, least + " to " + most);
        }
        return (int) value;
    }

    private IllegalArgumentException fail(String name, String expected) {
        return file.fail(key(name), expected);
    }

    /** Fails unless a size is absent, or equals the size that follows from other settings. */
    private void requireEqual(String name, int size) {
        OptionalLong stored = file.findInteger(key(name));
        if (stored.isPresent() && stored.getAsLong() != size) {
            throw fail(name, size + ", as other sizes say");
        }
    }
}
