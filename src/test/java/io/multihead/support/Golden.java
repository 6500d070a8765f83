package io.multihead.support;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A test vector with PyTorch's results from the test resources. */
public final class Golden {
    private final Safetensors file;

    private Golden(Safetensors file) {
        this.file = file;
    }

    /** Opens a vector by its name without extension. */
    public static Golden open(String name) {
        try {
            return new Golden(Safetensors.map(Arena.ofAuto(), folder().resolve(name + ".safetensors")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns the names of all vectors that start with a prefix, which includes the folder, as in {@code layer/norm_}.
     */
    public static Stream<String> names(String prefix) {
        Path folder = folder();
        try (Stream<Path> files = Files.walk(folder, 2)) {
            List<String> names = files.filter(file -> file.toString().endsWith(".safetensors"))
                    .map(file -> folder.relativize(file)
                            .toString()
                            .replace('\\', '/')
                            .replace(".safetensors", ""))
                    .filter(name -> name.startsWith(prefix))
                    .sorted()
                    .toList();
            return names.stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public Tensor tensor(String name) {
        return file.get(name);
    }

    /** Returns the tensor with a name, or null. */
    public @Nullable Tensor find(String name) {
        return file.find(name);
    }

    /** Returns a setting of the vector, or an empty string if it is absent. */
    public String meta(String key) {
        return file.metadata().getOrDefault(key, "");
    }

    @Override
    public String toString() {
        return file.metadata() + " " + file.names();
    }

    private static Path folder() {
        try {
            return Path.of(Golden.class.getResource("/golden").toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
