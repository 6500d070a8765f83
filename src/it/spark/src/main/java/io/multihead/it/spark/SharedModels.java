package io.multihead.it.spark;

import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkFiles;

/**
 * One language model for each file and JVM. All tasks of an executor share its packed weights. A model is thread-safe.
 * With {@link Compute#serial}, each task computes on its thread, so that Spark's cores are the only threads. A model
 * remains loaded until its JVM ends.
 */
public final class SharedModels {
    private static final Map<Path, LanguageModel> LOADED = new ConcurrentHashMap<>();

    private SharedModels() {}

    /**
     * Returns a model, which the first call in this JVM loads.
     *
     * @param model an absolute path of a GGUF file or a folder, the same on each executor, or the name of a file or an archive that Spark
     *     distributes ({@code --files model.gguf} is {@code "model.gguf"})
     * @return a shared model, which must not be closed
     * @throws IllegalStateException if this JVM is older than Java 25
     * @throws IllegalArgumentException if the file is missing, or its model is not supported. The message names the
     *     file and the host.
     */
    public static LanguageModel get(String model) {
        ExecutorJava.require();
        Path path = Path.of(model);
        return LOADED.computeIfAbsent(path.isAbsolute() ? path : Path.of(SparkFiles.get(model)), SharedModels::load);
    }

    private static LanguageModel load(Path path) {
        try {
            return LanguageModel.load(Compute.serial(), path);
        } catch (IOException | IllegalArgumentException e) {
            throw ExecutorJava.notLoaded("model", path, e);
        }
    }
}
