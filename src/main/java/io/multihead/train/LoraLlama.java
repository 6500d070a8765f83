package io.multihead.train;

import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.load.PeftSettings;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.nn.Embedding;
import io.multihead.nn.GatedLinear;
import io.multihead.nn.Layer;
import io.multihead.nn.Linear;
import io.multihead.nn.LoraLinear;
import io.multihead.nn.Residual;
import io.multihead.nn.RmsNorm;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.nn.Silu;
import io.multihead.nn.attention.ProjectedAttention;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A decoder with the architecture of Llama whose matrices are frozen and packed, in f32 or quantized, and whose low-rank adapters are trained
 * (Dettmers et al. 2023, "QLoRA"). A matrix has only its panels: gradients pass through them, and the matrix has no gradient. Therefore a
 * step needs memory for the panels, the recorded pass, and the adapters with their gradients and the state of the optimizer.
 *
 * <p>The embedding table keeps the type of the folder, and the norms are f32; neither is trained. Adapters are written as PEFT files. {@code
 * LoadOptions.withAdapter} merges such files into the model at loading, and {@link LoraAdapter} reads them. Thread safety is as documented in {@link
 * Layer}.
 */
public final class LoraLlama {
    private static final String WORDS = "model.embed_tokens.weight";
    private static final String NORM = "model.norm.weight";
    private static final String HEAD = "lm_head.weight";
    private static final String WEIGHT = ".weight";

    private final LoraAdapter.Config config;
    private final Sequence layers;
    private final Map<String, Tensor> adapters;
    private final long frozenBytes;

    private LoraLlama(LoraAdapter.Config config, Sequence layers, long frozenBytes) {
        this.config = config;
        this.layers = layers;
        this.frozenBytes = frozenBytes;
        Map<String, Tensor> trained = new LinkedHashMap<>();
        layers.parameters().forEach((name, tensor) -> {
            if (name.endsWith(PeftSettings.A) || name.endsWith(PeftSettings.B)) {
                trained.put(name, tensor);
            }
        });
        adapters = Collections.unmodifiableMap(trained);
    }

    /**
     * Loads a folder, packs its matrices one after another, and draws new adapters, which do not change the model: A is uniform
     * within {@code 1 / sqrt(inputs)}, as in PEFT, and B is zero.
     *
     * @param arena owns panels, tables and adapters, and must stay open; it must be shared if several threads compute
     * @param folder {@code config.json} of model type {@code llama}, and weights of any floating-point type in safetensors
     * @param config the modules with adapters, and the type of blocks of all projections; the output head stays f32, separate or tied
     * @param seed any number; the same one gives the same adapters
     * @return the model
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if the folder has another kind of model, a setting that these layers do not have, or an unknown or
     *     missing weight, or a module has no matrix; the message names it
     */
    public static LoraLlama load(Arena arena, Path folder, LoraAdapter.Config config, long seed) throws IOException {
        Checks.notNull(arena, "arena");
        Checks.notNull(config, "config");
        return LlamaWeights.read(folder, (sizes, weights) -> new Maker(arena, sizes, weights, config, seed).make());
    }

    /**
     * {@return the model as one layer, from ids {@code [batch, tokens]} in f32 to logits {@code [batch, tokens, vocabulary]}; the same
     * layers whose adapters an optimizer trains}. Texts of more tokens than the folder's {@code max_position_embeddings} are refused.
     */
    public Sequence layers() {
        return layers;
    }

    /** {@return A and B of all modules by the names that they have in {@link #layers()}, in an unmodifiable map, for an optimizer} */
    public Map<String, Tensor> adapters() {
        return adapters;
    }

    /**
     * {@return gradients of zeros for the adapters; other parameters have no gradients and do not
     * change}
     *
     * @param arena owns the memory
     */
    public Map<String, Tensor> gradients(Arena arena) {
        return BertLayers.gradients(arena, adapters, name -> true);
    }

    /** {@return the bytes of the panels of all frozen matrices, which have no other copy} */
    public long frozenBytes() {
        return frozenBytes;
    }

    /**
     * Writes the adapters as PEFT does: {@code adapter_config.json} and {@code adapter_model.safetensors}.
     *
     * @param folder created if it does not exist
     * @throws IOException if writing fails
     */
    public void save(Path folder) throws IOException {
        Map<String, Tensor> named = new LinkedHashMap<>();
        adapters.forEach((name, tensor) -> named.put(PeftSettings.PREFIX + name, tensor));
        LoraAdapter.save(Checks.notNull(folder, "folder"), config, named);
    }

    /** Makes the layers from the weights of a folder. */
    private static final class Maker {
        private final Arena arena;
        private final LlamaSizes sizes;
        private final LlamaWeights weights;
        private final LoraAdapter.Config config;
        private final WeightFormat format;
        private final InitialTensors random;
        private final Set<String> modules;
        private final Set<String> known = new TreeSet<>();
        private long bytes;

        Maker(Arena arena, LlamaSizes sizes, LlamaWeights weights, LoraAdapter.Config config, long seed) {
            this.arena = arena;
            this.sizes = sizes;
            this.weights = weights;
            this.config = config;
            format = config.frozen() == null ? WeightFormat.F32 : WeightFormat.of(config.frozen());
            random = new InitialTensors(seed, arena);
            modules = new TreeSet<>(config.modules());
        }

        LoraLlama make() {
            Tensor words = take(WORDS, sizes.vocabulary(), sizes.dim());
            List<Layer> blocks = new ArrayList<>();
            for (int layer = 0; layer < sizes.layers(); layer++) {
                blocks.add(block("model.layers." + layer + "."));
            }
            Layer norm = norm(NORM);
            Tensor head = sizes.tied() ? words : take(HEAD, sizes.vocabulary(), sizes.dim());
            PackedWeights packedHead = PackedWeights.ofOutputRows(arena, head);
            bytes += packedHead.bytes();
            if (!modules.isEmpty()) {
                throw Checks.fail("modules", modules.iterator().next(), "expected some of " + String.join(", ", known));
            }
            TokenTable table = new TokenTable(Embedding.of(words.copy(arena, words.dtype())), sizes.context());
            Sequence all = Sequence.of(
                    new Part("model.embed_tokens.", table),
                    new Part("", Sequence.of("model.layers.", blocks)),
                    new Part("model.norm.", norm),
                    new Part("lm_head.", Linear.of(packedHead, null)));
            return new LoraLlama(config, all, bytes);
        }

        private Layer block(String at) {
            int dim = sizes.dim();
            Layer attention = ProjectedAttention.of(
                    sizes.block().attention(),
                    linear(at + "self_attn.q_proj", sizes.queries(), dim),
                    linear(at + "self_attn.k_proj", sizes.keys(), dim),
                    linear(at + "self_attn.v_proj", sizes.keys(), dim),
                    linear(at + "self_attn.o_proj", dim, sizes.queries()));
            Layer gate = GatedLinear.of(
                    linear(at + "mlp.gate_proj", sizes.inner(), dim),
                    Silu.of(),
                    linear(at + "mlp.up_proj", sizes.inner(), dim));
            Layer down = linear(at + "mlp.down_proj", dim, sizes.inner());
            Part first = new Part("input_layernorm.", norm(at + "input_layernorm.weight"));
            Part second = new Part("post_attention_layernorm.", norm(at + "post_attention_layernorm.weight"));
            Sequence attend = Sequence.of(first, new Part("self_attn.", attention));
            Sequence transform = Sequence.of(second, new Part("mlp.", gate), new Part("mlp.down_proj.", down));
            return Sequence.of(new Part("", Residual.of(attend)), new Part("", Residual.of(transform)));
        }

        private Layer linear(String module, int outputs, int inputs) {
            known.add(LoraAdapter.lastPart(module));
            PackedWeights packed = PackedWeights.ofOutputRows(arena, take(module + WEIGHT, outputs, inputs), format);
            bytes += packed.bytes();
            Linear frozen = Linear.of(packed, null);
            if (!config.adapts(module)) {
                return frozen;
            }
            modules.remove(LoraAdapter.lastPart(module));
            Tensor a = random.linearPart(inputs, Shape.of(config.rank(), inputs));
            Tensor b = Tensor.allocate(arena, DType.F32, Shape.of(outputs, config.rank()));
            return LoraLinear.of(frozen, a, b, config.scale());
        }

        private Layer norm(String name) {
            Tensor weight = take(name, sizes.dim()).copy(arena, DType.F32);
            return RmsNorm.of(Shape.of(sizes.dim()), sizes.epsilon(), weight);
        }

        private Tensor take(String name, long... dims) {
            return weights.take(name, Shape.of(dims));
        }
    }
}
