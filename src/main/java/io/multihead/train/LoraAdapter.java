package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.PeftSettings;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Low-rank adapters of a model's matrices (Hu et al. 2022, "LoRA"): {@code W + alpha / rank B A}, where A and B are trained and W is frozen, in f32
 * or quantized (Dettmers et al. 2023, "QLoRA"). They are saved in the format of PEFT.
 *
 * <p>{@link #apply} writes the sums into the model's own matrices, which all layers use; {@link #backward} computes gradients of A and B from the
 * gradients of the sums. Therefore the optimizer keeps state only for the adapters, and the model is always merged. The model's matrices and their
 * gradients are dense. Unlike in PEFT, the inputs of adapters have no dropout.
 *
 * <p>Not thread-safe. Results have the same bits for any number of threads.
 */
public final class LoraAdapter {
    private static final String WEIGHT = ".weight";

    private final Config config;
    private final Map<String, Target> targets;
    private final Map<String, Tensor> parameters;

    /**
     * A matrix with its adapter.
     *
     * @param sum the model's own matrix, overwritten
     */
    private record Target(Tensor sum, Frozen frozen, Tensor a, Tensor b) {}

    /** Writes the frozen weights. */
    @FunctionalInterface
    private interface Frozen {
        void copyTo(Tensor to);
    }

    /**
     * The adapted modules, and their options.
     *
     * @param rank rows of A, 1 to 2^20
     * @param alpha a finite number; the factor of B A is alpha / rank
     * @param modules the last parts of names, such as {@code q_proj} or {@code query}, whose matrices are adapted
     * @param frozen the storage of the frozen weights; null for f32
     */
    public record Config(
            int rank,
            double alpha,
            Set<String> modules,
            @Nullable BlockType frozen) {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a value is out of its range, or there is no module
         */
        public Config {
            LlamaSizes.require(rank, 1, PeftSettings.MOST, "rank");
            if (!Double.isFinite((float) alpha)) {
                throw Checks.fail("alpha", String.valueOf(alpha), "expected a finite f32");
            }
            Checks.notNull(modules, "modules").forEach(module -> Checks.notNull(module, "modules"));
            modules = Set.copyOf(modules);
            if (modules.isEmpty()) {
                throw Checks.fail("modules", "none", "expected one or more");
            }
        }

        /**
         * {@return a configuration of adapters with this rank, weights in f32, and alpha twice the
         * rank}
         *
         * @param rank rows of A
         * @param modules the last parts of names
         */
        public static Config of(int rank, String... modules) {
            return new Config(rank, 2.0 * rank, new HashSet<>(List.of(Checks.noNulls(modules, "modules"))), null);
        }

        /**
         * {@return this configuration with another alpha}
         *
         * @param newAlpha finite
         */
        public Config withAlpha(double newAlpha) {
            return new Config(rank, newAlpha, modules, frozen);
        }

        /**
         * {@return this configuration with quantized weights, to which the model's matrices are
         * rounded}
         *
         * @param type type of the blocks; rows of the matrices are whole blocks
         */
        public Config withFrozen(BlockType type) {
            return new Config(rank, alpha, modules, Checks.notNull(type, "type"));
        }

        double scale() {
            return alpha / rank;
        }

        boolean adapts(String module) {
            return modules.contains(lastPart(module));
        }
    }

    private LoraAdapter(Arena arena, Config config, Map<String, Tensor> weights, Map<String, Tensor> adapters) {
        this.config = config;
        targets = new LinkedHashMap<>();
        parameters = Collections.unmodifiableMap(adapters);
        modules(weights, config)
                .forEach((module, sum) -> targets.put(
                        module,
                        new Target(
                                sum,
                                frozen(arena, sum, config.frozen),
                                get(adapters, PeftSettings.PREFIX + module + PeftSettings.A),
                                get(adapters, PeftSettings.PREFIX + module + PeftSettings.B))));
    }

    private static Frozen frozen(Arena arena, Tensor weight, @Nullable BlockType type) {
        return type == null
                ? weight.copy(arena, DType.F32)::copyTo
                : BlockTensor.quantize(arena, weight, type)::dequantize;
    }

    private static Tensor get(Map<String, Tensor> tensors, String name) {
        return Checks.notNull(tensors.get(name), name);
    }

    static String lastPart(String module) {
        return module.substring(module.lastIndexOf('.') + 1);
    }

    /** Returns the adapted matrices by their names without {@code .weight}. */
    private static Map<String, Tensor> modules(Map<String, Tensor> weights, Config config) {
        Map<String, Tensor> modules = new LinkedHashMap<>();
        Set<String> left = new TreeSet<>(config.modules);
        Set<String> known = new TreeSet<>();
        Checks.notNull(weights, "weights").forEach((name, tensor) -> {
            String module = Checks.notNull(name, "name in weights").endsWith(WEIGHT)
                    ? name.substring(0, name.length() - WEIGHT.length())
                    : "";
            if (module.isEmpty() || Checks.notNull(tensor, name).rank() != 2) {
                return;
            }
            known.add(lastPart(module));
            if (config.adapts(module)) {
                TensorChecks.requireFloating(tensor, name);
                TensorChecks.requireOwnStorage(tensor, name);
                modules.put(module, tensor);
                left.remove(lastPart(module));
            }
        });
        if (!left.isEmpty()) {
            throw Checks.fail("modules", left.iterator().next(), "expected some of " + String.join(", ", known));
        }
        return modules;
    }

    private static Map<String, Shape> shapes(Map<String, Tensor> weights, Config config) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        modules(weights, config).forEach((module, weight) -> {
            shapes.put(PeftSettings.PREFIX + module + PeftSettings.A, Shape.of(config.rank, weight.dim(1)));
            shapes.put(PeftSettings.PREFIX + module + PeftSettings.B, Shape.of(weight.dim(0), config.rank));
        });
        return shapes;
    }

    /**
     * {@return new adapters, which do not change the model: A is uniform within {@code 1 / sqrt(inputs)}, as in PEFT, and B is zero}
     *
     * @param arena owns the adapters and the frozen copies, and must stay open
     * @param weights the model's weights under Hugging Face's names, such as {@link LlamaLayers#weights()}; adapted weights are copied or
     *     quantized in this call, and {@link #apply} overwrites them
     * @param config the adapted modules
     * @param seed any number; the same one gives the same adapters for weights in the same order
     * @throws IllegalArgumentException if a module has no matrix, or rows are not whole blocks
     */
    public static LoraAdapter initialize(Arena arena, Map<String, Tensor> weights, Config config, long seed) {
        InitialTensors random = new InitialTensors(seed, Checks.notNull(arena, "arena"));
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        shapes(weights, Checks.notNull(config, "config"))
                .forEach((name, shape) -> drawn.put(
                        name,
                        name.endsWith(PeftSettings.A)
                                ? random.linearPart(shape.dim(1), shape)
                                : Tensor.allocate(arena, DType.F32, shape)));
        return new LoraAdapter(arena, config, weights, drawn);
    }

    /**
     * Loads adapters that PEFT or {@link #save} wrote.
     *
     * @param arena owns the adapters, f32 copies, and the frozen copies, and must stay open
     * @param weights the model's weights under Hugging Face's names
     * @param folder a folder with {@code adapter_config.json} and {@code adapter_model.safetensors}
     * @param frozen the storage of the frozen weights; null for f32
     * @return the adapters, which {@link #apply} adds to the model
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if the adapters have another kind, or belong to another model; the message names the
     *     difference
     */
    public static LoraAdapter load(Arena arena, Map<String, Tensor> weights, Path folder, @Nullable BlockType frozen)
            throws IOException {
        Checks.notNull(arena, "arena");
        Checks.notNull(folder, "folder");
        return Downloads.withCommand(folder, () -> read(arena, weights, folder, frozen));
    }

    private static LoraAdapter read(Arena arena, Map<String, Tensor> weights, Path folder, @Nullable BlockType frozen)
            throws IOException {
        PeftSettings.requireFiles(folder);
        Config config = ModelFolder.read(folder.resolve(PeftSettings.CONFIG), json -> read(json, frozen));
        Path file = folder.resolve(PeftSettings.WEIGHTS);
        try (Arena mapped = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(mapped, file);
            return Checks.in(file, () -> {
                Map<String, Tensor> copies = new LinkedHashMap<>();
                Set<String> left = new TreeSet<>(saved.names());
                shapes(weights, config).forEach((name, shape) -> {
                    Tensor from = left.remove(name) ? saved.get(name) : null;
                    copies.put(
                            name,
                            TensorChecks.requireParameter(from, name, shape).copy(arena, DType.F32));
                });
                if (!left.isEmpty()) {
                    throw Checks.fail(
                            "adapters", left.iterator().next(), "expected only weights of the model's modules");
                }
                return new LoraAdapter(arena, config, weights, copies);
            });
        }
    }

    private static Config read(JsonObject json, @Nullable BlockType frozen) {
        PeftSettings settings = PeftSettings.read(json);
        json.require("use_rslora", false);
        if (!settings.saved().isEmpty()) {
            throw json.fail("modules_to_save", "none");
        }
        for (String pattern : List.of("rank_pattern", "alpha_pattern")) {
            if (json.has(pattern) && !json.object(pattern).names().isEmpty()) {
                throw json.fail(pattern, "none");
            }
        }
        return new Config(settings.rank(), settings.alpha(), Set.copyOf(json.strings("target_modules")), frozen);
    }

    /** {@return A and B of all modules under PEFT's names, in an unmodifiable map: the parameters of an optimizer} */
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    /**
     * Writes the sums of frozen weights and adapters into the model's matrices: before training, after each step, and after loading. Call the model's
     * {@code parametersChanged} afterwards.
     *
     * @param cpu threads and scratch
     */
    public void apply(Compute cpu) {
        GemmOptions add = GemmOptions.DEFAULT.withFactors((float) config.scale(), 1);
        targets.forEach((module, target) -> TensorChecks.requireWritable(cpu, target.sum, module));
        targets.values().forEach(target -> {
            target.frozen.copyTo(target.sum);
            Gemm.multiply(cpu, target.b, target.a, target.sum, add);
        });
    }

    /**
     * Adds the gradients of the adapters: {@code dA += alpha / rank B^T dW} and {@code dB += alpha / rank dW A^T}, with the adapters that the
     * last {@link #apply} added.
     *
     * @param cpu threads and scratch
     * @param sums gradients of the model's matrices under Hugging Face's names, such as {@link LlamaLayers#weights(Map)}; one for each
     * module
     * @param gradients the gradients of {@link #parameters}, added to; parameters without a gradient are frozen
     * @throws IllegalArgumentException if a gradient is missing or has another shape; nothing is written
     */
    public void backward(Compute cpu, Map<String, Tensor> sums, Map<String, Tensor> gradients) {
        Checks.notNull(sums, "sums");
        TensorChecks checks = new TensorChecks(cpu).reads(parameters);
        targets.forEach(
                (module, target) -> checks.reads(module + WEIGHT, get(sums, module + WEIGHT), target.sum.shape()));
        checks.writesGradients(parameters, gradients);
        GemmOptions add = GemmOptions.DEFAULT.withFactors((float) config.scale(), 1);
        targets.forEach((module, target) -> {
            Tensor sum = get(sums, module + WEIGHT);
            Tensor ofA = gradients.get(PeftSettings.PREFIX + module + PeftSettings.A);
            if (ofA != null) {
                Gemm.multiply(cpu, target.b, sum, ofA, add.withTransposeA(true));
            }
            Tensor ofB = gradients.get(PeftSettings.PREFIX + module + PeftSettings.B);
            if (ofB != null) {
                Gemm.multiply(cpu, sum, target.a, ofB, add.withTransposeB(true));
            }
        });
    }

    /**
     * Writes the adapters in the format of PEFT: {@code adapter_config.json} and {@code
     * adapter_model.safetensors}.
     *
     * @param folder created if it does not exist
     * @throws IOException if writing fails
     */
    public void save(Path folder) throws IOException {
        save(Checks.notNull(folder, "folder"), config, parameters);
    }

    static void save(Path folder, Config config, Map<String, Tensor> adapters) throws IOException {
        Files.createDirectories(folder);
        Map<String, @Nullable Object> settings = new LinkedHashMap<>(PeftSettings.EXPECTED);
        settings.keySet().removeAll(PeftSettings.LATER); // older versions of PEFT refuse these settings
        settings.put("use_rslora", false);
        settings.put("base_model_name_or_path", null);
        settings.put("task_type", null);
        settings.put("r", config.rank);
        settings.put("lora_alpha", config.alpha);
        settings.put("lora_dropout", 0.0);
        settings.put("target_modules", List.copyOf(new TreeSet<>(config.modules)));
        Safetensors.write(folder.resolve(PeftSettings.WEIGHTS), adapters, Map.of("format", "pt"));
        JsonWriter.write(folder.resolve(PeftSettings.CONFIG), settings);
    }
}
