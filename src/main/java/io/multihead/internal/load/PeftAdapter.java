package io.multihead.internal.load;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Low-rank adapters of PEFT, which are merged into the matrices of a model while it is loaded. */
public final class PeftAdapter {
    private static final String WEIGHT = ".weight";

    private final Path folder;
    private final Map<String, Pair> pairs;

    /** An adapter of one matrix. */
    private record Pair(Tensor a, Tensor b, double scale) {
        Shape shape() {
            return Shape.of(b.dim(0), a.dim(1));
        }
    }

    private PeftAdapter(Path folder, Map<String, Pair> pairs) {
        this.folder = folder;
        this.pairs = pairs;
    }

    /**
     * Reads adapters.
     *
     * @param folder with {@code adapter_config.json} and {@code adapter_model.safetensors}
     */
    public static PeftAdapter read(Path folder) throws IOException {
        PeftSettings settings =
                ModelFolder.read(folder.resolve(PeftSettings.CONFIG), (JsonObject json) -> PeftSettings.read(json));
        Path file = folder.resolve(PeftSettings.WEIGHTS);
        try (Arena mapped = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(mapped, file);
            return new PeftAdapter(folder, Checks.in(file, () -> pairs(settings, saved)));
        }
    }

    private static Map<String, Pair> pairs(PeftSettings settings, Safetensors saved) {
        Map<String, Pair> pairs = new LinkedHashMap<>();
        Set<String> left = new TreeSet<>(saved.names());
        for (String name : saved.names()) {
            if (!name.startsWith(PeftSettings.PREFIX) || !name.endsWith(PeftSettings.A)) {
                continue;
            }
            String stem = name.substring(0, name.length() - PeftSettings.A.length());
            String module = stem.substring(PeftSettings.PREFIX.length());
            int rank = settings.rankOf(module);
            if (!Float.isFinite((float) settings.scaleOf(module))) {
                throw Checks.fail("alpha of " + module, String.valueOf(settings.alpha()), "expected a finite f32");
            }
            Tensor a = saved.get(name);
            Tensor b = left.remove(stem + PeftSettings.B) ? saved.get(stem + PeftSettings.B) : null;
            left.remove(name);
            TensorChecks.requireParameter(a, name, Shape.of(rank, a.dim(-1)));
            TensorChecks.requireParameter(b, stem + PeftSettings.B, Shape.of(b == null ? rank : b.dim(0), rank));
            Arena arena = Arena.ofAuto();
            pairs.put(
                    module,
                    new Pair(
                            a.copy(arena, DType.F32),
                            Checks.notNull(b, stem).copy(arena, DType.F32),
                            settings.scaleOf(module)));
        }
        if (!left.isEmpty() || pairs.isEmpty()) {
            String first = left.isEmpty() ? "none" : left.iterator().next();
            throw Checks.fail("adapters", first, "expected lora_A and lora_B of matrices");
        }
        return pairs;
    }

    /**
     * Returns a model's weights with these adapters added: {@code W + scale B A}, summed in f32 and rounded once to the type that W has, as
     * PEFT merges them.
     *
     * @param cpu multiplies
     * @param weights of transformers' names, perhaps after a prefix that the adapters' names lack, or without one that they have
     * @throws IllegalArgumentException if there is no such matrix, or it has another shape; the message names the folder and the module
     */
    public WeightSource into(Compute cpu, WeightSource weights) {
        Map<String, Pair> stored = new LinkedHashMap<>();
        Checks.in(folder, () -> {
            pairs.forEach((module, pair) -> {
                String name = stored(module + WEIGHT, weights.names());
                if (!weights.shape(name).equals(pair.shape())) {
                    throw Checks.fail(module, "adapter of shape " + pair.shape(), "expected " + weights.shape(name));
                }
                stored.put(name, pair);
            });
            return stored;
        });
        return new Merged(cpu, weights, stored);
    }

    private static String stored(String name, Set<String> names) {
        if (names.contains(name)) {
            return name;
        }
        List<String> like = names.stream()
                .filter(other -> other.endsWith("." + name) || name.endsWith("." + other))
                .toList();
        if (like.size() != 1) {
            throw Checks.fail("adapter of " + name, like.size() + " such weights", "expected one in the model");
        }
        return like.getFirst();
    }

    /** The weights of a model, some of them with adapters. */
    private record Merged(Compute cpu, WeightSource weights, Map<String, Pair> pairs) implements WeightSource {
        @Override
        public Set<String> names() {
            return weights.names();
        }

        @Override
        public StoredWeight get(String name, Shape expected) {
            StoredWeight own = weights.get(name, expected);
            Pair pair = pairs.get(name);
            if (pair == null || !own.isFloating()) {
                return own; // other types are refused by those who take it
            }
            Tensor numbers = own.plain();
            Tensor sum = numbers.copy(Arena.ofAuto(), numbers.dtype());
            Gemm.multiply(cpu, pair.b, pair.a, sum, GemmOptions.DEFAULT.withFactors((float) pair.scale, 1));
            return StoredWeight.of(sum);
        }

        @Override
        public StoredWeight like(String name, Shape expected) {
            return weights.like(name, expected);
        }

        @Override
        public Shape shape(String name) {
            return weights.shape(name);
        }

        @Override
        public long bytes(String name) {
            return weights.bytes(name);
        }

        @Override
        public boolean isLasting() {
            return weights.isLasting();
        }

        @Override
        public void release(StoredWeight copied) {
            weights.release(copied);
        }
    }
}
