package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.NativeMemory;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;

/**
 * A GGUF file of version 2 or 3, little-endian: metadata by key, and tensors, some of them quantized.
 *
 * <p>{@link #map} reads only the header. Tensors and metadata are read-only views of the mapped file, and valid as long as the arena
 * is open. The header is checked completely: magic, version, every count and length, every tensor's sizes, alignment and end, that
 * all names are different, and that no two tensors overlap. A tensor of a type that this library does not compute with is refused
 * only when it is requested; see {@link #type}.
 *
 * <p>Shapes are row-major, outermost size first, as everywhere in this library: GGUF lists sizes in the reverse order.
 *
 * <p>Immutable and thread-safe as far as the arena allows. A file must not be changed while it is mapped. If another process
 * shortens it, reading the lost part throws an {@link InternalError} of the JVM.
 *
 * @see <a href="https://github.com/ggml-org/ggml/blob/master/docs/gguf.md">the format</a>
 */
public final class Gguf {
    /** The largest number of a file's names that an error lists. */
    private static final int MOST_NAMES = 10;

    /** The prefix of every error message: the file and a colon, or empty. */
    private final String source;

    private final GgufHeader header;
    private final Map<String, GgufSplit.Part> parts;

    private Gguf(String source, GgufHeader header, Map<String, GgufSplit.Part> parts) {
        this.source = source;
        this.header = header;
        this.parts = parts;
    }

    /**
     * Maps a file, and the other files of a model that is split into {@code NAME-00001-of-0000N.gguf}. Files on a file system other than the default
     * one, such as inside an archive, are read into native memory instead.
     *
     * @param arena owns the mapping or the memory; closing it ends every tensor and all metadata of this file
     * @param file the file; for a split model, the first file, which has the metadata
     * @return the file
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if it is not a well-formed GGUF file, or the files do not belong together; the message names the
     *     file and the field
     */
    public static Gguf map(Arena arena, Path file) throws IOException {
        Checks.notNull(file, "file");
        Checks.notNull(arena, "arena");
        return Downloads.withCommand(file, () -> mapParts(arena, file));
    }

    private static Gguf mapParts(Arena arena, Path file) throws IOException {
        MemorySegment memory = FileMemory.of(file, arena);
        GgufHeader header = Checks.in(file, () -> read(memory));
        return new Gguf(file + ": ", header, GgufSplit.of(file, memory, header, arena));
    }

    /**
     * Reads one file that is in memory already. If the model is split, it reads only this part.
     *
     * @param file the whole file; offsets count from the first byte of the segment
     * @return the file's metadata and tensors, which are views of this memory
     * @throws IllegalArgumentException if it is not a well-formed GGUF file; the message names the field
     */
    public static Gguf parse(MemorySegment file) {
        GgufHeader header = read(Checks.notNull(file, "file"));
        return new Gguf("", header, GgufSplit.of(file, header));
    }

    private static GgufHeader read(MemorySegment file) {
        NativeMemory.requireLittleEndian("GGUF");
        return GgufHeader.read(file);
    }

    /** {@return the version of the format: 2 or 3} */
    public int version() {
        return header.version();
    }

    /** {@return the keys of the metadata, in the file's order, unmodifiable} */
    public Set<String> keys() {
        return Collections.unmodifiableSet(header.metadata().keySet());
    }

    /**
     * {@return the value of a key, if there is one}
     *
     * @param key the key, such as {@code general.architecture}
     */
    public Optional<GgufValue> find(String key) {
        GgufValue value = header.metadata().get(Checks.notNull(key, "key"));
        return Optional.ofNullable(value).map(found -> found.named(source + GgufValue.what(key)));
    }

    /**
     * {@return the value of a key}
     *
     * @param key the key, such as {@code general.architecture}
     * @throws IllegalArgumentException if there is no such key; the messages of this method and of all methods
     *     below name the file and the key
     */
    public GgufValue value(String key) {
        return find(key).orElseThrow(() -> fail(key, "a value"));
    }

    /**
     * {@return the exception for an unexpected value, which names the file, the key and the value, like the exceptions of all methods}
     *
     * @param key the key, such as {@code llama.block_count}, which need not exist
     * @param expected a description of the expected value
     */
    public IllegalArgumentException fail(String key, String expected) {
        String actual = find(key).map(GgufValue::toString).orElse("not in the file");
        return Checks.fail(source + GgufValue.what(key), actual, "expected " + expected);
    }

    /**
     * {@return the text of a key}
     *
     * @param key the key, such as {@code general.architecture}
     * @throws IllegalArgumentException if there is no such key, or the value is not a string
     */
    public String string(String key) {
        return value(key).string();
    }

    /**
     * {@return the text of a key, if there is one}
     *
     * @param key the key, such as {@code tokenizer.chat_template}
     * @throws IllegalArgumentException if the value is not a string
     */
    public Optional<String> findString(String key) {
        return find(key).map(GgufValue::string);
    }

    /**
     * {@return an integer of any of the eight types}
     *
     * @param key the key, such as {@code llama.block_count}
     * @throws IllegalArgumentException if there is no such key, the value is not an integer, or it is above
     *     2<sup>63</sup> - 1
     */
    public long integer(String key) {
        return value(key).integer();
    }

    /**
     * {@return an integer, if there is one}
     *
     * @param key the key, such as {@code llama.attention.head_count_kv}
     * @throws IllegalArgumentException if the value is not an integer, or above 2<sup>63</sup> - 1
     */
    public OptionalLong findInteger(String key) {
        Optional<GgufValue> value = find(key);
        return value.isPresent() ? OptionalLong.of(value.get().integer()) : OptionalLong.empty();
    }

    /**
     * {@return an f32, widened exactly, or an f64}
     *
     * @param key the key, such as {@code llama.attention.layer_norm_rms_epsilon}
     * @throws IllegalArgumentException if there is no such key, or the value is neither f32 nor f64
     */
    public double real(String key) {
        return value(key).real();
    }

    /**
     * {@return an f32 or f64, if there is one}
     *
     * @param key the key, such as {@code llama.rope.freq_base}
     * @throws IllegalArgumentException if the value is neither
     */
    public OptionalDouble findReal(String key) {
        Optional<GgufValue> value = find(key);
        return value.isPresent() ? OptionalDouble.of(value.get().real()) : OptionalDouble.empty();
    }

    /**
     * {@return a boolean}
     *
     * @param key the key, such as {@code tokenizer.ggml.add_bos_token}
     * @throws IllegalArgumentException if there is no such key, or the value is not a boolean
     */
    public boolean bool(String key) {
        return value(key).bool();
    }

    /**
     * {@return a boolean, if there is one}
     *
     * @param key the key, such as {@code tokenizer.ggml.add_bos_token}
     * @throws IllegalArgumentException if the value is not a boolean
     */
    public Optional<Boolean> findBool(String key) {
        return find(key).map(GgufValue::bool);
    }

    /**
     * {@return the strings of an array, as in {@link GgufValue#strings}}
     *
     * @param key the key, such as {@code tokenizer.ggml.tokens}
     * @throws IllegalArgumentException if there is no array of strings, or a string is not UTF-8
     */
    public List<String> strings(String key) {
        return value(key).strings();
    }

    /**
     * {@return the integers of an array, of any of the eight types, as a new array}
     *
     * @param key the key, such as {@code tokenizer.ggml.token_type}
     * @throws IllegalArgumentException if there is no array of integers, or an integer is above
     *     2<sup>63</sup> - 1
     */
    public long[] integers(String key) {
        return value(key).integers();
    }

    /**
     * {@return the elements of an array of f32, as a new array}
     *
     * @param key the key, such as {@code tokenizer.ggml.scores}
     * @throws IllegalArgumentException if there is no array of f32
     */
    public float[] floats(String key) {
        return value(key).floats();
    }

    /** {@return the names of all tensors, in the file's order, unmodifiable} */
    public Set<String> names() {
        return Collections.unmodifiableSet(parts.keySet());
    }

    /**
     * {@return whether there is a tensor of this name}
     *
     * @param name the name of the tensor, such as {@code output.weight}
     */
    public boolean contains(String name) {
        return parts.containsKey(Checks.notNull(name, "name"));
    }

    /**
     * {@return the stored type of a tensor: ggml's name, such as {@code Q4_K}, or {@code ggml type} and a number if this library does not know
     * the type}
     *
     * @param name the name of the tensor, such as {@code blk.0.attn_q.weight}
     * @throws IllegalArgumentException if there is no such tensor
     */
    public String type(String name) {
        return described(name).typeName();
    }

    /**
     * {@return the type of a tensor's blocks, if {@link #blocks} returns this tensor; empty if {@link #tensor} returns it or
     * its type is not supported}
     *
     * @param name the name of the tensor, such as {@code blk.0.attn_q.weight}
     * @throws IllegalArgumentException if there is no such tensor
     */
    public Optional<BlockType> blockType(String name) {
        GgmlType type = described(name).type();
        return Optional.ofNullable(type == null ? null : type.blocks());
    }

    /**
     * {@return the sizes of a tensor, outermost first, such as rows and columns of a weight}
     *
     * @param name the name of the tensor, such as {@code blk.0.attn_q.weight}
     * @throws IllegalArgumentException if there is no such tensor
     */
    public Shape shape(String name) {
        return described(name).shape();
    }

    /**
     * Returns a tensor that is not quantized, a view of the file's memory.
     *
     * @param name the name of the tensor, such as {@code blk.0.attn_norm.weight}
     * @return a tensor of F32, F16, BF16, I8 or F64
     * @throws IllegalArgumentException if there is no tensor of that name, or it has another type
     */
    public Tensor tensor(String name) {
        GgufSplit.Part part = part(name);
        GgufTensor found = part.tensor();
        DType dtype = found.type() == null ? null : found.type().dtype();
        if (dtype == null) {
            throw wrongType(found, "F32, F16, BF16, I8 or F64");
        }
        return Tensor.view(part.file().asSlice(found.from(), found.bytes()), dtype, found.shape());
    }

    /**
     * {@return a quantized tensor, a view of the file's memory}
     *
     * @param name the name of the tensor, such as {@code blk.0.attn_q.weight}
     * @throws IllegalArgumentException if there is no tensor of that name, or its type is not a {@link
     *     BlockType}
     */
    public BlockTensor blocks(String name) {
        GgufSplit.Part part = part(name);
        GgufTensor found = part.tensor();
        BlockType blocks = found.type() == null ? null : found.type().blocks();
        if (blocks == null) {
            throw wrongType(found, List.of(BlockType.values()).toString());
        }
        return BlockTensor.view(part.file().asSlice(found.from(), found.bytes()), blocks, found.shape(), 0);
    }

    private IllegalArgumentException wrongType(GgufTensor found, String expected) {
        return Checks.fail(source + found.what(), found.typeName() + " " + found.shape(), "expected " + expected);
    }

    private GgufTensor described(String name) {
        return part(name).tensor();
    }

    private GgufSplit.Part part(String name) {
        GgufSplit.Part found = parts.get(Checks.notNull(name, "name"));
        if (found == null) {
            List<String> some = names().stream().limit(MOST_NAMES).toList();
            throw Checks.fail(
                    source + "tensor \"" + name + "\"",
                    "not in the file",
                    "expected one of " + (names().size() > MOST_NAMES ? names().size() + ", such as " : "") + some);
        }
        return found;
    }
}
