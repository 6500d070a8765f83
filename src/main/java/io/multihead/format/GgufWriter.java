package io.multihead.format;

import io.multihead.internal.base.AtomicFile;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.NativeMemory;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Writes a GGUF file of version 3. Metadata and tensors have the order in which they were added. Each tensor begins on a multiple of {@code
 * general.alignment}, whose default is 32. Tensors may be computed one by one while the file is written, so the file may be larger than memory.
 * Not thread-safe.
 *
 * @see <a href="https://github.com/ggml-org/ggml/blob/master/docs/gguf.md">the format</a>
 */
public final class GgufWriter {
    private static final int VERSION = 3;
    private static final int LONGEST_KEY = 65535;
    /** llama.cpp keeps names in 64 bytes, of which the last is 0. */
    private static final int LONGEST_NAME = 63;

    private static final int MOST_AXES = 4;

    private final Map<String, GgufValue> metadata = new LinkedHashMap<>();
    private final Map<String, Source> tensors = new LinkedHashMap<>();

    /** Begins a file without metadata and tensors. */
    public GgufWriter() {}

    /** The source of a tensor, whose bytes are computed when it is written. */
    private record Source(GgmlType type, Shape shape, Function<Arena, MemorySegment> contents) {
        long bytes() {
            return shape.elements() / type.elements() * type.bytes();
        }
    }

    /**
     * Adds a value to the metadata.
     *
     * @param key the key, such as {@code general.architecture}; at most 65,535 bytes of UTF-8
     * @param value its value; a value from a file must stay valid until this file has been written
     * @return this writer
     * @throws IllegalArgumentException if the key is empty, too long, or already present; or if an alignment is not a U32, or not a power
     *     of two from 8 to 2<sup>30</sup>
     */
    public GgufWriter put(String key, GgufValue value) {
        String what = GgufValue.what(Checks.notNull(key, "key"));
        requireLength(key, LONGEST_KEY, what);
        Checks.notNull(value, what);
        if (key.equals(GgufHeader.ALIGNMENT_KEY)) {
            GgufHeader.requireAlignment(value.named(what), what);
        }
        requireNew(metadata.putIfAbsent(key, value), what);
        return this;
    }

    /**
     * Adds a tensor.
     *
     * @param name the name, such as {@code output_norm.weight}; at most 63 bytes of UTF-8
     * @param tensor a tensor with 1 to 4 sizes of at least 1, any element type and any strides; it is read when the file is written
     * @return this writer
     * @throws IllegalArgumentException if the name is empty, too long, or already present, or the sizes do not
     *     fit
     */
    public GgufWriter tensor(String name, Tensor tensor) {
        Checks.notNull(tensor, "tensor");
        return tensor(name, new LazyTensor(tensor.dtype(), tensor.shape(), arena -> tensor));
    }

    /**
     * Adds a tensor that is computed when the file is written.
     *
     * @param name the name, as for {@link #tensor(String, Tensor)}
     * @param tensor its element type and sizes, and the function that computes it on the writing thread
     * @return this writer
     * @throws IllegalArgumentException as {@link #tensor(String, Tensor)} does
     */
    public GgufWriter tensor(String name, LazyTensor tensor) {
        GgmlType type = GgmlType.of(Checks.notNull(tensor, "tensor").dtype());
        return add(name, new Source(type, tensor.shape(), arena -> dense(tensor.make(arena, what(name)), arena)));
    }

    /**
     * Adds a quantized tensor.
     *
     * @param name the name, as for {@link #tensor(String, Tensor)}
     * @param blocks a tensor with 1 to 4 sizes of at least 1; it is read when the file is written
     * @return this writer
     * @throws IllegalArgumentException as {@link #tensor(String, Tensor)} does
     */
    public GgufWriter blocks(String name, BlockTensor blocks) {
        Checks.notNull(blocks, "blocks");
        return blocks(name, blocks.type(), blocks.shape(), arena -> blocks);
    }

    /**
     * Adds a quantized tensor that is computed when the file is written, for example by {@link BlockTensor#quantize}.
     *
     * @param name the name, as for {@link #tensor(String, Tensor)}
     * @param type the type of its blocks
     * @param shape its sizes; the last is a whole number of blocks
     * @param contents a function that computes the tensor on the writing thread; its arena is shared, and is closed when the tensor has been
     *     written
     * @return this writer
     * @throws IllegalArgumentException as {@link #tensor(String, Tensor)} does, and if a row is not a whole number of
     *     blocks
     */
    public GgufWriter blocks(String name, BlockType type, Shape shape, Function<Arena, BlockTensor> contents) {
        Checks.notNull(type, "type");
        Checks.notNull(contents, "contents");
        if (Checks.notNull(shape, "shape").rank() > 0 && shape.dim(-1) % type.elements() != 0) {
            throw Checks.fail(
                    "shape",
                    shape.toString(),
                    "expected rows of a multiple of " + type.elements() + ", as " + type + " has blocks");
        }
        return add(name, new Source(GgmlType.of(type), shape, arena -> {
            BlockTensor made = Checks.notNull(contents.apply(arena), what(name));
            if (made.type() != type || !made.shape().equals(shape)) {
                throw Checks.fail(what(name), made.toString(), "expected " + type + " " + shape + ", as announced");
            }
            return made.memory().asSlice(made.offset(), made.bytes());
        }));
    }

    /**
     * Writes a temporary file in the same folder, which then atomically replaces the file. A crash leaves either the old file or the new file.
     *
     * @param file the file to write
     * @throws IOException if writing fails; an existing file is then unchanged
     * @throws IllegalArgumentException if the path has no file name, or a tensor does not have the announced type and sizes when it is
     *     made; an existing file is then unchanged
     */
    public void write(Path file) throws IOException {
        NativeMemory.requireLittleEndian("GGUF");
        AtomicFile.requireName(file);
        long alignment = alignment();
        byte[] header = header(alignment);
        AtomicFile.write(file, "gguf", to -> {
            to.append(ByteBuffer.wrap(header));
            for (Source source : tensors.values()) {
                try (Arena arena = Arena.ofShared()) {
                    to.append(source.contents.apply(arena));
                }
                // the last tensor is padded, too: llama.cpp reads whole multiples of the alignment
                to.append(ByteBuffer.allocate((int) (aligned(source.bytes(), alignment) - source.bytes())));
            }
        });
    }

    /**
     * {@return the file in memory, for files with metadata and small tensors}
     *
     * @throws IllegalArgumentException if a tensor does not have the announced type and sizes when it
     *     is made
     */
    public byte[] toArray() {
        long alignment = alignment();
        GgufEncoder to = new GgufEncoder().append(header(alignment));
        for (Source source : tensors.values()) {
            try (Arena arena = Arena.ofShared()) {
                to.append(source.contents.apply(arena).toArray(ValueLayout.JAVA_BYTE))
                        .align(alignment);
            }
        }
        return to.toArray();
    }

    private long alignment() {
        GgufValue chosen = metadata.get(GgufHeader.ALIGNMENT_KEY);
        return chosen == null ? GgufHeader.DEFAULT_ALIGNMENT : chosen.integer();
    }

    private byte[] header(long alignment) {
        GgufEncoder to = new GgufEncoder()
                .u32(GgufHeader.MAGIC)
                .u32(VERSION)
                .u64(tensors.size())
                .u64(metadata.size());
        metadata.forEach((key, value) -> to.text(key, GgufValue.what(key))
                .u32(value.type().ordinal())
                .append(value.bytes().toArray(ValueLayout.JAVA_BYTE)));
        long offset = 0;
        for (Map.Entry<String, Source> entry : tensors.entrySet()) {
            Source source = entry.getValue();
            to.text(entry.getKey(), what(entry.getKey())).u32(source.shape.rank());
            for (int axis = source.shape.rank() - 1; axis >= 0; axis--) {
                to.u64(source.shape.dim(axis));
            }
            to.u32(source.type.id()).u64(offset);
            if (source.bytes() > Long.MAX_VALUE - offset - 2 * alignment) {
                throw Checks.fail(
                        what(entry.getKey()),
                        source.type + " " + source.shape,
                        "expected fewer than 2^63 bytes in all");
            }
            offset += aligned(source.bytes(), alignment);
        }
        return to.align(alignment).toArray();
    }

    private GgufWriter add(String name, Source source) {
        String what = what(Checks.notNull(name, "name"));
        requireLength(name, LONGEST_NAME, what);
        Shape shape = source.shape;
        if (shape.rank() < 1 || shape.rank() > MOST_AXES || shape.elements() == 0) {
            throw Checks.fail(what, "shape " + shape, "expected 1 to " + MOST_AXES + " sizes of at least 1");
        }
        if (shape.elements() / source.type.elements() > Long.MAX_VALUE / source.type.bytes()) {
            throw Checks.fail(what, source.type + " " + shape, "expected fewer than 2^63 bytes");
        }
        requireNew(tensors.putIfAbsent(name, source), what);
        return this;
    }

    private static void requireLength(String name, int longest, String what) {
        new GgufEncoder().text(name, what);
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes < 1 || bytes > longest) {
            throw Checks.fail(what, bytes + " bytes", "expected 1 to " + longest);
        }
    }

    private static void requireNew(@Nullable Object before, String what) {
        if (before != null) {
            throw Checks.fail(what, "added twice", "expected every name once");
        }
    }

    private static MemorySegment dense(Tensor tensor, Arena arena) {
        DType dtype = tensor.dtype();
        Tensor dense = tensor.isDense() ? tensor : tensor.copy(arena, dtype);
        return dense.memory()
                .asSlice(dense.offset() * dtype.bytes(), dense.shape().elements() * dtype.bytes());
    }

    private static long aligned(long bytes, long alignment) {
        return Math.ceilDiv(bytes, alignment) * alignment;
    }

    private static String what(String name) {
        return "tensor \"" + name + "\"";
    }
}
