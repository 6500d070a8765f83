package io.multihead.nn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** One golden file. Stands in for the library's own safetensors reader until that exists. */
final class GoldenFile {
    private static final Path FOLDER = Path.of("src/test/resources/golden");

    private final JsonNode header;
    private final MemorySegment data;

    private GoldenFile(byte[] bytes) throws IOException {
        int headerSize = Math.toIntExact(
                ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong());
        header = new ObjectMapper().readTree(bytes, Long.BYTES, headerSize);
        data = MemorySegment.ofArray(bytes).asSlice(Long.BYTES + headerSize);
    }

    /** Names of all files with a prefix. */
    static Stream<String> names(String prefix) throws IOException {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return files
                    .map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith(prefix))
                    .sorted()
                    .toList()
                    .stream();
        }
    }

    static GoldenFile read(String name) throws IOException {
        return new GoldenFile(Files.readAllBytes(FOLDER.resolve(name)));
    }

    String metadata(String key) {
        return header.required("__metadata__").required(key).asText();
    }

    Tensor get(String name) {
        Tensor found = find(name);
        if (found == null) {
            throw new IllegalArgumentException("no tensor " + name);
        }
        return found;
    }

    /** The tensor of a name, booleans as I8; null when there is none. */
    @Nullable
    Tensor find(String name) {
        JsonNode entry = header.get(name);
        if (entry == null) {
            return null;
        }
        long[] dims = StreamSupport.stream(entry.required("shape").spliterator(), false)
                .mapToLong(JsonNode::asLong)
                .toArray();
        String stored = entry.required("dtype").asText();
        DType dtype = stored.equals("BOOL") ? DType.I8 : DType.valueOf(stored);
        long from = entry.required("data_offsets").required(0).asLong();
        return Tensor.view(data.asSlice(from), dtype, Shape.of(dims));
    }
}
