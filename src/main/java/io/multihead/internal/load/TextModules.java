package io.multihead.internal.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.ModelFolder.Module;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The modules of a folder that makes one vector of a text (Reimers and Gurevych 2019, "Sentence-BERT"), in their order.
 *
 * @param tokens the folder of the transformer, or of the table of static embeddings
 * @param pooling the function from token states to one vector; null for static embeddings
 * @param dense the folders of dense layers
 * @param normalized whether vectors have length 1
 */
public record TextModules(Path tokens, @Nullable PoolingSettings pooling, List<Path> dense, boolean normalized) {
    private static final String EXPECTED =
            "a Transformer, a Pooling, optional Dense and Normalize modules, or a StaticEmbedding instead of the first two";

    /** Reads the modules of a folder that {@link ModelFolder#isModular is modular}. */
    public static TextModules read(Path folder) throws IOException {
        Paths paths = ModelFolder.modules(folder, Paths::of);
        PoolingSettings pooling = paths.pooling == null ? null : ModelFolder.config(paths.pooling, PoolingSettings::of);
        if (paths.normalize != null && Files.exists(paths.normalize.resolve(ModelFolder.CONFIG))) {
            ModelFolder.config(paths.normalize, TextModules::requireVectors);
        }
        return new TextModules(paths.tokens, pooling, paths.dense, paths.normalize != null);
    }

    /** Fails unless the modules are a transformer in the folder itself, its pooling, and optionally a normalization. */
    public TextModules requirePlain(Path folder) {
        String expected = "expected a Transformer in the folder itself, a Pooling, and an optional Normalize module";
        Path file = folder.resolve("modules.json");
        if (pooling == null || !dense.isEmpty()) {
            throw Checks.fail(file + ": modules.type", pooling == null ? "StaticEmbedding" : "Dense", expected);
        }
        if (!tokens.equals(folder.resolve(""))) {
            throw Checks.fail(file + ": modules.path", tokens.toString(), expected);
        }
        return this;
    }

    /** Fails if settings make a Normalize module work on the vectors of tokens instead of the vectors of texts. */
    private static JsonObject requireVectors(JsonObject normalize) {
        normalize.require("module_input_name", "sentence_embedding");
        normalize.require("module_output_name", "sentence_embedding");
        return normalize;
    }

    private record Paths(
            Path tokens,
            @Nullable Path pooling,
            List<Path> dense,
            @Nullable Path normalize) {
        static Paths of(List<Module> list) {
            Path tokens = null;
            Path pooling = null;
            boolean makesVectors = false;
            List<Path> dense = new ArrayList<>();
            Path normalize = null;
            for (Module module : list) {
                Path path = module.folder();
                if (module.is("Transformer") && tokens == null) {
                    tokens = path;
                } else if (module.is("StaticEmbedding") && tokens == null) {
                    tokens = path;
                    makesVectors = true;
                } else if (module.is("Pooling") && tokens != null && !makesVectors) {
                    pooling = path;
                    makesVectors = true;
                } else if (module.is("Dense") && makesVectors && normalize == null) {
                    dense.add(path);
                } else if (module.is("Normalize") && makesVectors && normalize == null) {
                    normalize = path;
                } else {
                    throw module.fail(EXPECTED);
                }
            }
            if (tokens == null || !makesVectors) {
                throw Checks.fail(
                        "modules",
                        list.size() + " modules",
                        "expected a Transformer and a Pooling module, or a StaticEmbedding module");
            }
            return new Paths(tokens, pooling, List.copyOf(dense), normalize);
        }
    }
}
