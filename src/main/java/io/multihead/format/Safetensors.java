package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.NativeMemory;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A safetensors file: a little-endian 64-bit length, a JSON header of that length, and the tensors' bytes.
 *
 * <p>{@link #map} reads only the header. Tensors are read-only views of the mapped file, and valid as long as the arena is open. The header is
 * checked completely: every tensor is within the file, its bytes match its shape, and tensors neither overlap nor leave gaps. A tensor of an
 * unknown element type is refused only when it is requested. Its bytes are known to be within the file, but are not compared with its shape.
 * Immutable and thread-safe as far as the arena allows.
 *
 * @see <a href="https://huggingface.co/docs/safetensors">the format</a>
 */
public final class Safetensors {
    /** Descriptions of files that are mistaken for safetensors, by their first bytes. */
    private static final Map<String, String> OTHERS =
            Map.of("GGUF", "a GGUF file", "PK\u0003\u0004", "a zip archive, as PyTorch writes");

    private static final int LENGTH_BYTES = Long.BYTES;
    /** The largest number of a file's names that an error lists. */
    private static final int MOST_NAMES = 10;

    private final Map<String, Entry> entries;
    private final Map<String, String> metadata;
    private final MemorySegment data;

    private Safetensors(Map<String, Entry> entries, Map<String, String> metadata, MemorySegment data) {
        this.entries = entries;
        this.metadata = metadata;
        this.data = data;
    }

    /**
     * Maps a file. A file on a file system other than the default one, such as inside an archive, is read into native
     * memory instead.
     *
     * @param arena owns the mapping or the memory; closing it ends every tensor of this file
     * @param file the file
     * @return the file's tensors
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if it is not a well-formed safetensors file; the message names the file
     */
    public static Safetensors map(Arena arena, Path file) throws IOException {
        Checks.notNull(file, "file");
        Checks.notNull(arena, "arena");
        MemorySegment memory = FileMemory.of(file, arena);
        return Checks.in(file, () -> parse(memory));
    }

    /**
     * Reads a file that is in memory already.
     *
     * @param file the whole file
     * @return the file's tensors, which are views of this memory
     * @throws IllegalArgumentException if it is not a well-formed safetensors file
     */
    public static Safetensors parse(MemorySegment file) {
        NativeMemory.requireLittleEndian("safetensors");
        if (Checks.notNull(file, "file").byteSize() < LENGTH_BYTES) {
            throw Checks.fail(
                    "file", file.byteSize() + " bytes", "expected at least the 8 bytes of the header's length");
        }
        long length = file.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
        long most = Math.min(SafetensorsWriter.LONGEST_HEADER, file.byteSize() - LENGTH_BYTES);
        if (length < 0 || length > most) {
            Downloads.requireBinary(file, "safetensors");
            String start = new String(
                    file.asSlice(0, LENGTH_BYTES).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.ISO_8859_1);
            for (Map.Entry<String, String> other : OTHERS.entrySet()) {
                if (start.startsWith(other.getKey())) {
                    throw Checks.fail("file", other.getValue(), "expected safetensors");
                }
            }
            throw Checks.fail("header", Long.toUnsignedString(length) + " bytes", "expected at most " + most);
        }
        Map<String, @Nullable Object> header =
                Json.header(file.asSlice(LENGTH_BYTES, length).toArray(ValueLayout.JAVA_BYTE));
        MemorySegment data = file.asSlice(LENGTH_BYTES + length);
        Map<String, String> metadata = metadata(header.remove(SafetensorsWriter.METADATA));
        Map<String, Entry> entries = new LinkedHashMap<>();
        header.forEach((name, described) -> entries.put(name, Entry.of(name, described, data.byteSize())));
        requireSeamless(entries, data.byteSize());
        return new Safetensors(entries, metadata, data);
    }

    /**
     * Writes tensors to a temporary file in the same folder, which then atomically replaces the file. A crash leaves either the old file or the
     * new file.
     *
     * @param file the file to write
     * @param tensors the tensors by name, of type I8, F16, BF16, F32 or F64, with any strides
     * @param metadata any texts by key
     * @throws IOException if writing fails; an existing file is then unchanged
     * @throws IllegalArgumentException if the path has no file name, a tensor is named {@code __metadata__}, or a text has
     *     an unpaired surrogate
     */
    public static void write(Path file, Map<String, Tensor> tensors, Map<String, String> metadata) throws IOException {
        Map<String, LazyTensor> lazy = new LinkedHashMap<>();
        Checks.notNull(tensors, "tensors")
                .forEach((name, tensor) -> lazy.put(
                        name,
                        new LazyTensor(
                                Checks.notNull(tensor, "tensors \"" + name + "\"")
                                        .dtype(),
                                tensor.shape(),
                                arena -> tensor)));
        writeLazy(file, lazy, metadata);
    }

    /**
     * Writes tensors as {@link #write} does, and computes each when it is written. The file may be larger than memory.
     *
     * @param file the file to write
     * @param tensors the tensors by name; their contents are computed sequentially, in the order of the map, on the calling thread
     * @param metadata any texts by key
     * @throws IOException if writing fails; an existing file is then unchanged
     * @throws IllegalArgumentException if the path has no file name, a tensor is named {@code __metadata__} or does not have the
     *     announced element type and shape, or a text has an unpaired surrogate; an existing file is then unchanged
     */
    public static void writeLazy(Path file, Map<String, LazyTensor> tensors, Map<String, String> metadata)
            throws IOException {
        SafetensorsWriter.write(file, tensors, metadata);
    }

    /** {@return the names of all tensors in the file's order, unmodifiable} */
    public Set<String> names() {
        return Collections.unmodifiableSet(entries.keySet());
    }

    /**
     * Returns whether there is a tensor of this name.
     *
     * @param name its name
     * @return whether the file has the tensor
     */
    public boolean contains(String name) {
        return entries.containsKey(Checks.notNull(name, "name"));
    }

    /** {@return the metadata of the header: texts by key, unmodifiable} */
    public Map<String, String> metadata() {
        return Collections.unmodifiableMap(metadata);
    }

    /**
     * Returns one tensor, or null if there is no tensor of that name, for optional parameters of layers.
     *
     * @param name its name
     * @return the tensor, or null
     * @throws IllegalArgumentException if its element type is not supported
     */
    public @Nullable Tensor find(String name) {
        return contains(name) ? get(name) : null;
    }

    /**
     * Returns one tensor, a view of the file's memory.
     *
     * @param name its name
     * @return the tensor; BOOL and U8 appear as {@link DType#I8}
     * @throws IllegalArgumentException if there is no tensor of that name, or its element type is not supported
     */
    public Tensor get(String name) {
        Entry entry = entry(name);
        DType dtype =
                switch (entry.dtype()) {
                    case "F32" -> DType.F32;
                    case "F64" -> DType.F64;
                    case "BF16" -> DType.BF16;
                    case "F16" -> DType.F16;
                    case "I8", "U8", "BOOL" -> DType.I8;
                    default ->
                        throw Checks.fail(
                                "tensor \"" + name + "\"",
                                "dtype " + entry.dtype(),
                                "expected F32, F64, BF16, F16, I8, U8 or BOOL");
                };
        return Tensor.view(data.asSlice(entry.from(), entry.to() - entry.from()), dtype, entry.shape());
    }

    /**
     * Returns the file's name for a tensor's element type, even if the type is not supported.
     *
     * @param name its name
     * @return the name, such as {@code F32} or {@code I64}
     * @throws IllegalArgumentException if there is no tensor of that name
     */
    public String elementType(String name) {
        return entry(name).dtype();
    }

    /**
     * {@return a tensor's shape, for any element type}
     *
     * @param name its name
     * @throws IllegalArgumentException if there is no tensor of that name
     */
    public Shape shape(String name) {
        return entry(name).shape();
    }

    /**
     * Returns the elements of a tensor of integers, such as positions.
     *
     * @param name its name
     * @return the elements, row-major, as a new array
     * @throws IllegalArgumentException if there is no tensor of that name, its type is neither I64 nor I32, or it is too large for an array
     */
    public long[] longs(String name) {
        Entry entry = entry(name);
        boolean wide = entry.dtype().equals("I64");
        if (!wide && !entry.dtype().equals("I32")) {
            throw Checks.fail("tensor \"" + name + "\"", "dtype " + entry.dtype(), "expected I64 or I32");
        }
        Checks.fitsInt(entry.shape().elements(), "tensor \"" + name + "\" elements");
        MemorySegment elements = data.asSlice(entry.from(), entry.to() - entry.from());
        return wide
                ? elements.toArray(ValueLayout.JAVA_LONG_UNALIGNED)
                : Arrays.stream(elements.toArray(ValueLayout.JAVA_INT_UNALIGNED))
                        .asLongStream()
                        .toArray();
    }

    private Entry entry(String name) {
        Entry entry = entries.get(Checks.notNull(name, "name"));
        if (entry == null) {
            List<String> some = names().stream().limit(MOST_NAMES).toList();
            throw Checks.fail(
                    "tensor \"" + name + "\"",
                    "not in the file",
                    "expected one of " + (names().size() > MOST_NAMES ? names().size() + ", such as " : "") + some);
        }
        return entry;
    }

    private static Map<String, String> metadata(@Nullable Object described) {
        Map<String, String> result = new LinkedHashMap<>();
        if (described == null) {
            return result;
        }
        if (!(described instanceof Map)) {
            throw Checks.fail("header", SafetensorsWriter.METADATA + " is not an object", "expected text by key");
        }
        ((Map<?, ?>) described).forEach((key, value) -> {
            if (!(value instanceof String)) {
                throw Checks.fail(
                        "header",
                        SafetensorsWriter.METADATA + " \"" + key + "\" is not a string",
                        "expected text by key");
            }
            result.put((String) key, (String) value);
        });
        return result;
    }

    private static void requireSeamless(Map<String, Entry> entries, long size) {
        List<Entry> sorted = entries.values().stream()
                .sorted(Comparator.comparingLong(Entry::from).thenComparingLong(Entry::to))
                .toList();
        long end = 0;
        for (Entry entry : sorted) {
            if (entry.from() != end) {
                throw Checks.fail(
                        "tensor \"" + entry.name() + "\"",
                        "starts at byte " + entry.from(),
                        "expected " + end + ", where the tensor before it ends");
            }
            end = entry.to();
        }
        if (end != size) {
            throw Checks.fail(
                    "file",
                    size + " bytes of data",
                    "expected the " + end + " that the tensors take" + (size < end ? Downloads.CUT : ""));
        }
    }
}
