package io.multihead.it.spark;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkFiles;

/**
 * One encoder for each model folder and JVM, which all tasks of an executor share. An encoder is thread-safe. With
 * {@link Compute#serial}, each task computes on its thread, so that Spark's cores are the only threads.
 *
 * <p>The weights are mapped, so that executors of one host share the page cache. An encoder remains loaded until its
 * JVM ends.
 */
public final class SharedEncoders {
    private static final Map<Path, SentenceEncoder> LOADED = new ConcurrentHashMap<>();

    private SharedEncoders() {}

    /**
     * Returns the encoder of a folder, which the first call in this JVM loads.
     *
     * @param folder an absolute path, the same on each executor, or the name of an archive that Spark distributes
     *     ({@code --archives model.zip#model} is {@code "model"})
     * @return a shared encoder, which must not be closed
     * @throws IllegalStateException if this JVM is older than Java 25
     * @throws IllegalArgumentException if the folder or a file is missing, or the model is not supported. The message
     *     names the folder and the host.
     */
    public static SentenceEncoder get(String folder) {
        ExecutorJava.require();
        Path path = Path.of(folder);
        return LOADED.computeIfAbsent(path.isAbsolute() ? path : Path.of(SparkFiles.get(folder)), SharedEncoders::load);
    }

    private static SentenceEncoder load(Path folder) {
        try {
            return SentenceEncoder.load(Compute.serial(), folder);
        } catch (IOException | IllegalArgumentException e) {
            throw ExecutorJava.notLoaded("folder", folder, e);
        }
    }
}
