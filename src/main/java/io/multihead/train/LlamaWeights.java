package io.multihead.train;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.load.ModelFolder;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;

/** The mapped weights of a folder with Llama's architecture, all of which must be used. */
final class LlamaWeights {
    private final SafetensorsFolder weights;
    private final Set<String> left;

    private LlamaWeights(SafetensorsFolder weights, LlamaSizes sizes) {
        this.weights = weights;
        left = new TreeSet<>(weights.names());
        left.removeIf(name -> name.endsWith(".rotary_emb.inv_freq") || sizes.tied() && name.equals("lm_head.weight"));
    }

    /** Makes a model from copies of all weights of a folder; messages name the folder. */
    static <T> T read(Path folder, BiFunction<LlamaSizes, LlamaWeights, T> making) throws IOException {
        Checks.notNull(folder, "folder");
        return Downloads.withCommand(folder, () -> readFiles(folder, making));
    }

    private static <T> T readFiles(Path folder, BiFunction<LlamaSizes, LlamaWeights, T> making) throws IOException {
        Checks.folder(folder, "a folder that transformers wrote");
        LlamaSizes sizes = ModelFolder.config(folder, LlamaSizes::read);
        try (Arena mapped = Arena.ofConfined()) {
            SafetensorsFolder files = SafetensorsFolder.map(mapped, folder);
            return Checks.in(folder, () -> {
                LlamaWeights weights = new LlamaWeights(files, sizes);
                T made = making.apply(sizes, weights);
                if (!weights.left.isEmpty()) {
                    throw Checks.fail(
                            "weights", weights.left.iterator().next(), "expected only weights of a Llama model");
                }
                return made;
            });
        }
    }

    Tensor take(String name, Shape shape) {
        Tensor found = left.remove(name) ? weights.get(name) : null;
        return TensorChecks.requireParameter(found, name, shape);
    }
}
