package io.multihead.internal.load;

import io.multihead.format.LazyTensor;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.gemm.PackedMatrix;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A model in one safetensors file. Its matrices are packed in the form that products read. The metadata states the kind of model and the layout
 * of panels. The file also contains sizes that a model requested from its weights and that panels do not contain.
 */
public final class PackedFile {
    private static final String FORMAT = "format";
    private static final String PANELS = "panels";
    private static final String ASKED = "asked";

    private final Safetensors file;
    private final Map<String, Shape> asked;

    private PackedFile(Safetensors file, Map<String, Shape> asked) {
        this.file = file;
        this.asked = asked;
    }

    /** The contents of a file. */
    public static final class Contents {
        private final Map<String, String> metadata = new LinkedHashMap<>();
        private final Map<String, Tensor> panels = new LinkedHashMap<>();
        private final Map<String, Tensor> others = new LinkedHashMap<>();
        private final Map<String, Tensor> files = new LinkedHashMap<>();
        private final Map<String, Object> asked = new LinkedHashMap<>();

        /** Begins a file of a kind of model, whose name includes the version of its layout. */
        public Contents(String format) {
            metadata.put(FORMAT, format);
            metadata.put(PANELS, PackedMatrix.layout());
        }

        public Contents with(String key, String text) {
            metadata.put(key, text);
            return this;
        }

        public Contents with(String key, Map<String, Object> json) {
            return with(key, JsonWriter.write(key, json));
        }

        /** Adds the weights of a part of the model; a prefix distinguishes parts. */
        public Contents with(String prefix, Given weights) {
            weights.put(prefix, panels, others);
            weights.asked.forEach((name, shape) -> asked.put(
                    prefix + name, Arrays.stream(shape.toArray()).boxed().toList()));
            return this;
        }

        public Contents withFiles(Map<String, Tensor> added) {
            files.putAll(added);
            return this;
        }

        /** Writes the file without a listener. */
        public void write(Path path) throws IOException {
            write(path, (done, all) -> {});
        }

        /** Writes a temporary file, which then replaces the file. */
        public void write(Path path, Progress progress) throws IOException {
            // the data of a file begins on a cache line; since panels come first, each panel begins on a cache line,
            // too
            Map<String, Tensor> tensors = new LinkedHashMap<>(panels);
            tensors.putAll(others);
            tensors.putAll(files);
            if (!asked.isEmpty()) {
                with(ASKED, asked);
            }
            Map<String, LazyTensor> lazy = new LinkedHashMap<>();
            tensors.forEach((name, tensor) -> {
                int done = lazy.size();
                lazy.put(name, new LazyTensor(tensor.dtype(), tensor.shape(), arena -> {
                    progress.onPart(done, tensors.size());
                    return tensor;
                }));
            });
            Safetensors.writeLazy(path, lazy, metadata);
            progress.onPart(tensors.size(), tensors.size());
        }
    }

    /** Receives the progress of a file. */
    @FunctionalInterface
    public interface Progress {
        /** Receives the number of written tensors, and of all tensors. */
        void onPart(int done, int all);
    }

    /** Maps a file of a kind of model. The caller adds its path to errors. */
    public static PackedFile map(Path path, String format, Loading loading) throws IOException {
        Safetensors file = Safetensors.map(loading.arena(), path);
        return Checks.in(path, () -> {
            require(file, FORMAT, format);
            require(file, PANELS, PackedMatrix.layout());
            return new PackedFile(
                    file, file.metadata().containsKey(ASKED) ? shapes(json(file.metadata(), ASKED)) : Map.of());
        });
    }

    private static void require(Safetensors file, String key, String expected) {
        String actual = file.metadata().get(key);
        if (!expected.equals(actual)) {
            throw Checks.fail(key, String.valueOf(actual), "expected " + expected);
        }
    }

    private static JsonObject json(Map<String, String> metadata, String key) {
        String text = metadata.getOrDefault(key, "");
        return new JsonObject(key, Json.object(key, text.getBytes(StandardCharsets.UTF_8)));
    }

    private static Map<String, Shape> shapes(JsonObject json) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        json.members().keySet().forEach(name -> shapes.put(name, shape(json, name)));
        return shapes;
    }

    private static Shape shape(JsonObject json, String name) {
        long[] dims = json.integers(name).stream().mapToLong(Long::longValue).toArray();
        return Checks.in("asked." + name, () -> Shape.of(dims));
    }

    public JsonObject json(String key) {
        return json(file.metadata(), key);
    }

    public String text(String key) {
        String text = file.metadata().get(key);
        if (text == null) {
            throw Checks.fail(key, "not in the file", "expected a text");
        }
        return text;
    }

    /** Returns whether there is a tensor of a name. */
    public boolean contains(String name) {
        return file.contains(name);
    }

    /** Returns the number of tensors. */
    public int tensors() {
        return file.names().size();
    }

    /** Returns the bytes of an embedded file, in place. */
    public Tensor bytes(String name) {
        Tensor bytes = file.get(name);
        if (bytes.dtype() != DType.I8 || bytes.rank() != 1) {
            throw Checks.fail(name, bytes.toString(), "expected bytes");
        }
        return bytes;
    }

    /** Returns the bytes of a small embedded file. */
    public byte[] toArray(String name) {
        MemorySegment memory = bytes(name).memory();
        Checks.fitsInt(memory.byteSize(), "bytes of " + name);
        return memory.toArray(ValueLayout.JAVA_BYTE);
    }

    /** Returns the memory of a file in the form that {@link Contents#withFiles} takes. */
    public static Tensor bytes(MemorySegment memory) {
        return Tensor.view(memory, DType.I8, Shape.of(memory.byteSize()));
    }

    /** Returns the tensors whose names have a prefix, and none of some other prefixes, which belong to other parts and files. */
    public Set<String> names(String prefix, Set<String> others) {
        return file.names().stream()
                .filter(name -> name.startsWith(prefix) && others.stream().noneMatch(name::startsWith))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    /**
     * Takes the weights of a part of the model.
     *
     * @param prefix the prefix that {@link Contents#with(String, Given)} has put before the part's names
     * @param own names of the file that the part must use
     */
    public Weights weights(Loading loading, String prefix, Set<String> own) {
        return new Weights(loading, new Source(), new Weights.Naming(name -> prefix + name, own));
    }

    private final class Source implements WeightSource {
        @Override
        public Set<String> names() {
            return file.names();
        }

        @Override
        public boolean contains(String name) {
            return file.contains(name) || asked.containsKey(name);
        }

        @Override
        public Shape shape(String name) {
            Shape shape = asked.get(name);
            return shape == null ? file.shape(name) : shape;
        }

        @Override
        public StoredWeight get(String name, Shape expected) {
            return StoredWeight.of(file.get(name));
        }

        @Override
        public long bytes(String name) {
            return WeightSource.of(file).bytes(name);
        }
    }
}
