package io.multihead.train;

import io.multihead.attention.AttentionOptions;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.model.Block;
import io.multihead.model.EmbeddingTables;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.model.SelfAttention;
import io.multihead.model.Transformer;
import io.multihead.nn.Embedding;
import io.multihead.nn.Linear;
import io.multihead.nn.RmsNorm;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.position.RopeScaling;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A decoder with the architecture of Llama (Touvron et al. 2023) in trainable layers: pre-norm blocks with RMS norms, rotary positions, grouped
 * heads, a gated feed-forward network, and no biases. It is initialized or read from a Hugging Face folder, and trained as one {@link Sequence} from
 * ids to logits. The trained model becomes a {@link Transformer} for {@code LanguageModel.of}, a folder, or a GGUF file.
 *
 * <p>The parameters are f32, in an arena of the caller. Thread safety is as documented in {@link io.multihead.nn.Layer}.
 */
public final class LlamaLayers {
    private static final String WORDS = "model.embed_tokens.";
    private static final String BLOCKS = "model.layers.";
    private static final String NORM = "model.norm.";
    private static final String HEAD = "lm_head.";
    private static final String WEIGHT = "weight";
    private static final String PROJECTIONS = "self_attn.in_proj_weight";

    /** The names of a block's weights: in the layers, in Hugging Face's files and in GGUF. */
    private static final List<List<String>> NAMES = List.of(
            List.of("self_attn.out_proj.weight", "self_attn.o_proj.weight", "attn_output.weight"),
            List.of("gate_proj.weight", "mlp.gate_proj.weight", "ffn_gate.weight"),
            List.of("up_proj.weight", "mlp.up_proj.weight", "ffn_up.weight"),
            List.of("down_proj.weight", "mlp.down_proj.weight", "ffn_down.weight"),
            List.of("norm1.weight", "input_layernorm.weight", "attn_norm.weight"),
            List.of("norm2.weight", "post_attention_layernorm.weight", "ffn_norm.weight"));

    private final LlamaSizes sizes;
    private final @Nullable Path source;
    private final Map<String, Tensor> parameters;
    private final List<TransformerBlock> blocks = new ArrayList<>();
    private final Sequence layers;

    private LlamaLayers(LlamaSizes sizes, @Nullable Path source, Map<String, Tensor> parameters) {
        this.sizes = sizes;
        this.source = source;
        this.parameters = parameters;
        for (int layer = 0; layer < sizes.layers(); layer++) {
            String prefix = BLOCKS + layer + ".";
            blocks.add(TransformerBlock.of(sizes.block(), name -> parameters.get(prefix + name)));
        }
        String head = sizes.tied() ? WORDS : HEAD;
        layers = Sequence.of(
                new Part(WORDS, new TokenTable(Embedding.of(get(WORDS + WEIGHT)), sizes.context())),
                new Part("", Sequence.of(BLOCKS, blocks)),
                new Part(NORM, RmsNorm.of(Shape.of(sizes.dim()), sizes.epsilon(), get(NORM + WEIGHT))),
                new Part(head, Linear.of(get(head + WEIGHT), null)));
    }

    private Tensor get(String name) {
        return Checks.notNull(parameters.get(name), name);
    }

    /**
     * {@return a model with new parameters: normal numbers with a standard deviation of 0.02, divided by the square root of twice
     * the number of layers in projections that end a branch (Radford et al. 2019), and norms of 1}
     *
     * @param arena owns the parameters, which must stay open
     * @param config the sizes
     * @param seed any number; the same one gives the same parameters
     */
    public static LlamaLayers initialize(Arena arena, Config config, long seed) {
        LlamaSizes sizes = Checks.notNull(config, "config").sizes;
        InitialTensors random = new InitialTensors(seed, Checks.notNull(arena, "arena"));
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        double last = 0.02 / Math.sqrt(2.0 * sizes.layers());
        shapes(sizes).forEach((name, shape) -> {
            boolean ends = name.endsWith("out_proj.weight") || name.endsWith("down_proj.weight");
            Tensor tensor = shape.rank() == 1
                    ? InitialTensors.constant(1, shape, arena)
                    : random.normal(ends ? last : 0.02, shape);
            drawn.put(name, tensor);
        });
        return new LlamaLayers(sizes, null, drawn);
    }

    /**
     * Loads the model of a folder: {@code config.json} of model type {@code llama}, and weights of any floating-point type in safetensors.
     *
     * @param arena owns the parameters, f32 copies that must stay open
     * @param folder written by transformers; {@link #save} copies its other files
     * @return the model
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if the folder has another kind of model, a setting that these layers do not have, or an unknown or
     *     missing weight; the message names the file and the setting
     */
    public static LlamaLayers load(Arena arena, Path folder) throws IOException {
        Checks.notNull(arena, "arena");
        return LlamaWeights.read(folder, (sizes, weights) -> {
            Map<String, Tensor> copies = new LinkedHashMap<>();
            shapes(sizes).forEach((name, shape) -> copies.put(name, Tensor.allocate(arena, DType.F32, shape)));
            views(sizes, copies)
                    .forEach((name, to) -> weights.take(name, to.shape()).copyTo(to));
            return new LlamaLayers(sizes, folder, copies);
        });
    }

    private static Map<String, Shape> shapes(LlamaSizes sizes) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        Shape words = Shape.of(sizes.vocabulary(), sizes.dim());
        shapes.put(WORDS + WEIGHT, words);
        for (int layer = 0; layer < sizes.layers(); layer++) {
            String at = BLOCKS + layer + ".";
            shapes.put(at + PROJECTIONS, Shape.of(sizes.queries() + 2L * sizes.keys(), sizes.dim()));
            shapes.put(at + "self_attn.out_proj.weight", Shape.of(sizes.dim(), sizes.queries()));
            shapes.put(at + "gate_proj.weight", Shape.of(sizes.inner(), sizes.dim()));
            shapes.put(at + "up_proj.weight", Shape.of(sizes.inner(), sizes.dim()));
            shapes.put(at + "down_proj.weight", Shape.of(sizes.dim(), sizes.inner()));
            shapes.put(at + "norm1.weight", Shape.of(sizes.dim()));
            shapes.put(at + "norm2.weight", Shape.of(sizes.dim()));
        }
        shapes.put(NORM + WEIGHT, Shape.of(sizes.dim()));
        if (!sizes.tied()) {
            shapes.put(HEAD + WEIGHT, words);
        }
        return shapes;
    }

    /** Returns views of the parameters by Hugging Face's names. */
    private static Map<String, Tensor> views(LlamaSizes sizes, Map<String, Tensor> parameters) {
        Map<String, Tensor> views = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> {
            if (!name.startsWith(BLOCKS)) {
                views.put(name, tensor);
                return;
            }
            int end = name.indexOf('.', BLOCKS.length()) + 1;
            String prefix = name.substring(0, end);
            String own = name.substring(end);
            if (own.equals(PROJECTIONS)) {
                List<Tensor> parts = projections(sizes, tensor);
                views.put(prefix + "self_attn.q_proj.weight", parts.get(0));
                views.put(prefix + "self_attn.k_proj.weight", parts.get(1));
                views.put(prefix + "self_attn.v_proj.weight", parts.get(2));
            }
            NAMES.stream()
                    .filter(names -> names.get(0).equals(own))
                    .forEach(names -> views.put(prefix + names.get(1), tensor));
        });
        return views;
    }

    private static List<Tensor> projections(LlamaSizes sizes, Tensor all) {
        int queries = sizes.queries();
        int keys = sizes.keys();
        return List.of(
                all.slice(0, 0, queries),
                all.slice(0, queries, queries + keys),
                all.slice(0, queries + keys, queries + 2L * keys));
    }

    /**
     * {@return the model as one layer, from ids {@code [batch, tokens]} in f32 to logits {@code [batch, tokens, vocabulary]}; the same layers that an
     * optimizer trains}. Texts of more than {@link #contextTokens} tokens are refused. The parameters have Hugging Face's names, except the
     * parameters of blocks, which have the names of {@link TransformerBlock} after prefixes such as {@code model.layers.0.}.
     */
    public Sequence layers() {
        return layers;
    }

    /** {@return the weights under Hugging Face's names: views of the parameters, in an unmodifiable map} */
    public Map<String, Tensor> weights() {
        return Collections.unmodifiableMap(views(sizes, parameters));
    }

    /**
     * Returns gradients by the names of {@link #weights()}.
     *
     * @param gradients the gradients by the names of the parameters of {@link #layers()}
     * @return views of the gradients, in an unmodifiable map
     * @throws IllegalArgumentException if a gradient belongs to no parameter, or has another shape
     */
    public Map<String, Tensor> weights(Map<String, Tensor> gradients) {
        Checks.notNull(gradients, "gradients").forEach((name, tensor) -> {
            Tensor parameter = parameters.get(Checks.notNull(name, "gradients"));
            if (parameter == null) {
                throw Checks.fail("gradients", name, "expected names of layers().parameters()");
            }
            Shape shape = Checks.notNull(tensor, "gradients." + name).shape();
            if (!shape.equals(parameter.shape())) {
                throw Checks.fail("gradients." + name, "shape " + shape, "expected " + parameter.shape());
            }
        });
        return Collections.unmodifiableMap(views(sizes, gradients));
    }

    /** {@return the largest number of tokens of a text} */
    public int contextTokens() {
        return sizes.context();
    }

    /**
     * Returns the model for inference, for {@code LanguageModel.of}. The model that is loaded from the written folder or file has the same
     * bits.
     *
     * @param arena owns the model's weights, and must stay open. Weights are packed copies, except for embeddings and norms, which are the parameters
     *     themselves
     * @return the stack with its head
     */
    public Transformer transformer(Arena arena) {
        Checks.notNull(arena, "arena");
        List<Block> made = new ArrayList<>();
        for (int layer = 0; layer < sizes.layers(); layer++) {
            made.add(block(arena, BLOCKS + layer + "."));
        }
        String head = sizes.tied() ? WORDS : HEAD;
        return Transformer.of(EmbeddingTables.of(get(WORDS + WEIGHT)), made)
                .withFinalNorm(Norm.rms(get(NORM + WEIGHT), sizes.epsilon()))
                .withHead(packed(arena, get(head + WEIGHT)));
    }

    private Block block(Arena arena, String at) {
        List<PackedLinear> parts = projections(sizes, get(at + PROJECTIONS)).stream()
                .map(part -> packed(arena, part))
                .toList();
        SelfAttention attention = SelfAttention.of(
                        sizes.heads(),
                        sizes.keyValueHeads(),
                        LinearGroup.of(parts.toArray(PackedLinear[]::new)),
                        packed(arena, get(at + "self_attn.out_proj.weight")),
                        AttentionOptions.CAUSAL)
                .withRope(sizes.rope());
        LinearGroup gateAndUp =
                LinearGroup.of(packed(arena, get(at + "gate_proj.weight")), packed(arena, get(at + "up_proj.weight")));
        FeedForward network =
                FeedForward.gated(Activation.SILU, gateAndUp, packed(arena, get(at + "down_proj.weight")));
        return Block.preNorm(
                Norm.rms(get(at + "norm1.weight"), sizes.epsilon()),
                attention,
                Norm.rms(get(at + "norm2.weight"), sizes.epsilon()),
                network);
    }

    private static PackedLinear packed(Arena arena, Tensor weight) {
        return PackedLinear.of(PackedWeights.ofOutputRows(arena, weight));
    }

    /**
     * Writes a folder in the format of transformers: {@code config.json}, and the weights in f32 as {@code model.safetensors}. If the model was
     * loaded, the other files of its folder are copied. A new model has no tokenizer, which {@link io.multihead.text.BytePairs#writeTo} writes.
     *
     * @param folder created if it does not exist; not the folder that the model was loaded from
     * @throws IOException if writing fails
     * @throws IllegalArgumentException if it is the folder that the model was loaded from
     */
    public void save(Path folder) throws IOException {
        Files.createDirectories(Checks.notNull(folder, "folder"));
        Map<String, @Nullable Object> settings = new LinkedHashMap<>();
        if (source == null) {
            settings.putAll(sizes.settings());
        } else {
            BertFolder.copy(source, folder);
            settings.putAll(ModelFolder.config(source, JsonObject::members));
        }
        settings.remove("dtype"); // torch_dtype is the older name of dtype; the weights may have had another type
        settings.put("torch_dtype", "float32");
        JsonWriter.write(folder.resolve(ModelFolder.CONFIG), settings);
        Safetensors.write(folder.resolve("model.safetensors"), weights(), Map.of("format", "pt"));
    }

    /**
     * Writes the settings and the weights to a GGUF file, in f32. The tokenizer's class writes the tokenizer. Rows of query and key projections are
     * permuted, as in converters to GGUF, so the terms of a score are added in another order. The logits of the file equal the logits of these layers
     * except for rounding.
     *
     * @param to the writer of the file; the parameters must stay open and unchanged until the file is written
     * @return the writer
     * @throws IllegalArgumentException if rotary positions are scaled, which GGUF expresses differently
     */
    public GgufWriter putTo(GgufWriter to) {
        if (!(sizes.rope().config().scaling() instanceof RopeScaling.None)) {
            throw Checks.fail("rope", sizes.rope().toString(), "expected positions that are not scaled");
        }
        Checks.notNull(to, "to")
                .put("general.architecture", GgufValue.ofString("llama"))
                .put("llama.context_length", number(sizes.context()))
                .put("llama.embedding_length", number(sizes.dim()))
                .put("llama.block_count", number(sizes.layers()))
                .put("llama.feed_forward_length", number(sizes.inner()))
                .put("llama.attention.head_count", number(sizes.heads()))
                .put("llama.attention.head_count_kv", number(sizes.keyValueHeads()))
                .put("llama.attention.key_length", number(sizes.headDim()))
                .put("llama.attention.value_length", number(sizes.headDim()))
                .put("llama.attention.layer_norm_rms_epsilon", GgufValue.ofF32((float) sizes.epsilon()))
                .put("llama.rope.freq_base", GgufValue.ofF32((float)
                        sizes.rope().config().theta()))
                .put("llama.rope.dimension_count", number(sizes.headDim()))
                .put("llama.vocab_size", number(sizes.vocabulary()));
        to.tensor("token_embd.weight", get(WORDS + WEIGHT));
        for (int layer = 0; layer < sizes.layers(); layer++) {
            String from = BLOCKS + layer + ".";
            String at = "blk." + layer + ".";
            List<Tensor> parts = projections(sizes, get(from + PROJECTIONS));
            to.tensor(at + "attn_q.weight", interleaved(parts.get(0)));
            to.tensor(at + "attn_k.weight", interleaved(parts.get(1)));
            to.tensor(at + "attn_v.weight", parts.get(2));
            NAMES.forEach(names -> to.tensor(at + names.get(2), get(from + names.get(0))));
        }
        to.tensor("output_norm.weight", get(NORM + WEIGHT));
        return sizes.tied() ? to : to.tensor("output.weight", get(HEAD + WEIGHT));
    }

    /** Returns the rows with each head's halves interleaved. */
    private Tensor interleaved(Tensor rows) {
        int half = sizes.headDim() / 2;
        return rows.reshape(-1, 2, half, sizes.dim())
                .permute(0, 2, 1, 3)
                .copy(Arena.ofAuto(), DType.F32)
                .reshape(rows.dim(0), sizes.dim());
    }

    private static GgufValue number(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    /** The sizes of a new model. Immutable. */
    public static final class Config {
        private final LlamaSizes sizes;

        private Config(LlamaSizes sizes) {
            this.sizes = sizes;
        }

        /**
         * {@return sizes with the same number of heads of keys and of queries, a feed-forward network of eight thirds of dim, rounded up to 32,
         * 1024 tokens, a base of rotary positions of 10000, RMS norms with 1e-5, and a head that is the table of embeddings}
         *
         * @param vocabulary the number of tokens, up to 2^24
         * @param dim elements of a token's state
         * @param layers blocks
         * @param heads attention heads; dim divided by them is even
         * @throws IllegalArgumentException if a size is below 1, or heads do not fit
         */
        public static Config of(int vocabulary, int dim, int layers, int heads) {
            LlamaSizes.require(vocabulary, 1, 1 << 24, "vocabulary");
            LlamaSizes.require(dim, 2, 1 << 24, "dim");
            LlamaSizes.require(layers, 1, 1 << 10, "layers");
            Checks.atLeast(heads, 1, "heads");
            if (dim % (2L * heads) != 0) {
                throw Checks.fail("heads", String.valueOf(heads), "expected a divisor of half of dim " + dim);
            }
            int headDim = dim / heads;
            int inner = (int) ((8L * dim / 3 + 31) / 32 * 32);
            return new Config(new LlamaSizes(
                    vocabulary,
                    dim,
                    inner,
                    layers,
                    heads,
                    heads,
                    headDim,
                    1024,
                    LlamaSizes.rope(headDim, 10_000),
                    1e-5,
                    true));
        }

        /**
         * {@return these sizes with another feed-forward network}
         *
         * @param inner elements between its products, at least 1
         */
        public Config withInner(int inner) {
            LlamaSizes.require(inner, 1, 1 << 24, "inner");
            return new Config(sizes.with(inner, sizes.keyValueHeads(), sizes.context(), sizes.rope(), sizes.tied()));
        }

        /**
         * {@return these sizes with other heads of keys and values}
         *
         * @param keyValueHeads a divisor of heads
         */
        public Config withKeyValueHeads(int keyValueHeads) {
            Checks.atLeast(keyValueHeads, 1, "keyValueHeads");
            return new Config(sizes.with(sizes.inner(), keyValueHeads, sizes.context(), sizes.rope(), sizes.tied()));
        }

        /**
         * {@return these sizes for longer or shorter texts}
         *
         * @param context the largest number of tokens of a text
         */
        public Config withContext(int context) {
            Checks.atLeast(context, 1, "context");
            return new Config(sizes.with(sizes.inner(), sizes.keyValueHeads(), context, sizes.rope(), sizes.tied()));
        }

        /**
         * {@return these sizes with another base of rotary positions}
         *
         * @param theta at least 1; 500000 in Llama 3
         */
        public Config withTheta(double theta) {
            return new Config(sizes.with(
                    sizes.inner(),
                    sizes.keyValueHeads(),
                    sizes.context(),
                    LlamaSizes.rope(sizes.headDim(), theta),
                    sizes.tied()));
        }

        /**
         * {@return these sizes with or without a separate head}
         *
         * @param tied whether the head is the table of embeddings
         */
        public Config withTiedHead(boolean tied) {
            return new Config(sizes.with(sizes.inner(), sizes.keyValueHeads(), sizes.context(), sizes.rope(), tied));
        }
    }
}
