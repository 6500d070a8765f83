package io.multihead.internal.load;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
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
import org.jspecify.annotations.Nullable;

/** Low-rank adapters of PEFT, and modules that are saved with them, which are merged into the weights of a model while it is loaded. */
public final class PeftAdapter {
    private static final String WEIGHT = ".weight";

    private final Path folder;
    private final Map<String, Change> changes;

    /** A change of one weight. */
    private interface Change {
        Shape shape();

        /** Returns the weight that replaces a weight of the model. */
        Tensor of(Compute cpu, Tensor own);
    }

    /** An adapter of one matrix. */
    private record Pair(Tensor a, Tensor b, double scale) implements Change {
        @Override
        public Shape shape() {
            return Shape.of(b.dim(0), a.dim(1));
        }

        @Override
        public Tensor of(Compute cpu, Tensor own) {
            Tensor sum = own.copy(Arena.ofAuto(), own.dtype());
            Gemm.multiply(cpu, b, a, sum, GemmOptions.DEFAULT.withFactors((float) scale, 1));
            return sum;
        }
    }

    /** A weight of a module that is saved as a whole. */
    private record Whole(Tensor weight) implements Change {
        @Override
        public Shape shape() {
            return weight.shape();
        }

        @Override
        public Tensor of(Compute cpu, Tensor own) {
            return weight.copy(Arena.ofAuto(), own.dtype());
        }
    }

    private PeftAdapter(Path folder, Map<String, Change> changes) {
        this.folder = folder;
        this.changes = changes;
    }

    /**
     * Reads adapters.
     *
     * @param folder a folder with {@code adapter_config.json} and {@code adapter_model.safetensors}
     */
    public static PeftAdapter read(Path folder) throws IOException {
        return Downloads.withCommand(folder, () -> readFiles(folder));
    }

    private static PeftAdapter readFiles(Path folder) throws IOException {
        PeftSettings.requireFiles(folder);
        PeftSettings settings =
                ModelFolder.read(folder.resolve(PeftSettings.CONFIG), (JsonObject json) -> PeftSettings.read(json));
        Path file = folder.resolve(PeftSettings.WEIGHTS);
        try (Arena mapped = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(mapped, file);
            return new PeftAdapter(folder, Checks.in(file, () -> changes(settings, saved)));
        }
    }

    private static Map<String, Change> changes(PeftSettings settings, Safetensors saved) {
        Map<String, Change> changes = new LinkedHashMap<>();
        Set<String> left = new TreeSet<>(saved.names());
        for (String name : saved.names()) {
            if (!name.startsWith(PeftSettings.PREFIX)) {
                continue;
            }
            String weight = name.substring(PeftSettings.PREFIX.length());
            if (settings.isSaved(weight)) {
                Tensor whole = TensorChecks.requireParameter(saved.get(name), name, saved.shape(name));
                changes.put(weight, new Whole(whole.copy(Arena.ofAuto(), whole.dtype())));
                left.remove(name);
                continue;
            }
            if (!name.endsWith(PeftSettings.A)) {
                continue;
            }
            String stem = name.substring(0, name.length() - PeftSettings.A.length());
            String module = stem.substring(PeftSettings.PREFIX.length());
            int rank = settings.rankOf(module);
            if (!Float.isFinite((float) settings.scaleOf(module))) {
                throw Checks.fail(
                        "alpha of " + module, String.valueOf(settings.alphaOf(module)), "expected a finite f32");
            }
            Tensor a = saved.get(name);
            Tensor b = left.remove(stem + PeftSettings.B) ? saved.get(stem + PeftSettings.B) : null;
            left.remove(name);
            TensorChecks.requireParameter(a, name, Shape.of(rank, a.dim(-1)));
            TensorChecks.requireParameter(b, stem + PeftSettings.B, Shape.of(b == null ? rank : b.dim(0), rank));
            Arena arena = Arena.ofAuto();
            changes.put(
                    module + WEIGHT,
                    new Pair(
                            a.copy(arena, DType.F32),
                            Checks.notNull(b, stem).copy(arena, DType.F32),
                            settings.scaleOf(module)));
        }
        if (!left.isEmpty() || changes.isEmpty()) {
            String first = left.isEmpty() ? "none" : left.iterator().next();
            throw Checks.fail(
                    "adapters", first, "expected lora_A and lora_B of matrices, or a module of modules_to_save");
        }
        return changes;
    }

    /**
     * Returns a model's weights with these adapters added: {@code W + scale B A}, summed in f32 and rounded once to the type of W, like
     * PEFT's merge. Modules that are saved as a whole replace the model's modules and are rounded to the types of the replaced modules.
     *
     * @param cpu the threads of the products
     * @param weights weights under transformers' names, possibly with a prefix that the adapters' names lack, or without a prefix that the
     *     adapters' names have
     * @throws IllegalArgumentException if there is no such matrix, or it has another shape; the message names the folder and the module
     */
    public WeightSource into(Compute cpu, WeightSource weights) {
        Map<String, Change> stored = new LinkedHashMap<>();
        Checks.in(folder, () -> {
            changes.forEach((weight, change) -> {
                String name = stored(weight, weights.names());
                if (!weights.shape(name).equals(change.shape())) {
                    throw Checks.fail(weight, "adapter of shape " + change.shape(), "expected " + weights.shape(name));
                }
                stored.put(name, change);
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

    /**
     * The weights of a model, some of them with adapters. The last sum is kept, since its other rows may be read next, for example if queries,
     * keys and values are one matrix.
     */
    private static final class Merged implements WeightSource {
        private final Compute cpu;
        private final WeightSource weights;
        private final Map<String, Change> changes;
        private @Nullable String last;
        private @Nullable StoredWeight lastSum;

        Merged(Compute cpu, WeightSource weights, Map<String, Change> changes) {
            this.cpu = cpu;
            this.weights = weights;
            this.changes = changes;
        }

        @Override
        public Set<String> names() {
            return weights.names();
        }

        @Override
        public StoredWeight get(String name, Shape expected) {
            if (lastSum != null && name.equals(last)) {
                return lastSum;
            }
            StoredWeight own = weights.get(name, expected);
            Change change = changes.get(name);
            if (change == null || !own.isFloating()) {
                return own; // the callers that take it refuse other types
            }
            last = name;
            lastSum = StoredWeight.of(change.of(cpu, own.plain()));
            return lastSum;
        }

        @Override
        public StoredWeight like(String name, Shape expected) {
            return weights.like(name, expected);
        }

        @Override
        public boolean isChanged(String name) {
            return changes.containsKey(name);
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
