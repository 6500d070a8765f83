package io.multihead.decoder;

import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.TreeSet;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Which model it is, for files of sessions: keys and values of one model are nonsense to another, also to one that was trained a little
 * further. The checksum is of the configuration and of each tensor's name, type, shape and bytes; it is computed once, when it is first
 * asked for. Thread-safe.
 */
final class ModelIdentity {
    /** Bytes that are copied at a time: CRC32C takes arrays. */
    private static final int CHUNK = 1 << 16;

    private static final int DIGITS = 32;

    private final String name;
    private final int vocabulary;
    private final String settings;
    private final ModelFile file;
    private @Nullable String checksum;

    ModelIdentity(String name, int vocabulary, String settings, ModelFile file) {
        this.name = name;
        this.vocabulary = vocabulary;
        this.settings = settings;
        this.file = file;
    }

    String name() {
        return name;
    }

    /** Returns how many tokens the model may have been given. */
    int vocabulary() {
        return vocabulary;
    }

    synchronized String checksum() {
        if (checksum == null) {
            checksum = compute();
        }
        return checksum;
    }

    private String compute() {
        MessageDigest digest = sha256();
        add(digest, settings);
        byte[] room = new byte[CHUNK];
        for (String tensor : new TreeSet<>(file.names())) {
            BlockTensor blocks = file.findBlocks(tensor);
            add(digest, tensor + " " + (blocks != null ? line(blocks, room) : line(file.tensor(tensor), room)));
        }
        return HexFormat.of().formatHex(digest.digest()).substring(0, DIGITS);
    }

    private static void add(MessageDigest digest, String line) {
        digest.update((line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            // every Java platform has it
            throw new IllegalStateException(impossible);
        }
    }

    private static String line(BlockTensor blocks, byte[] room) {
        return line(blocks.type(), blocks.shape(), crc(blocks.memory(), blocks.offset(), blocks.bytes(), room));
    }

    /** Tensors of files are dense. */
    private static String line(Tensor tensor, byte[] room) {
        DType dtype = tensor.dtype();
        long bytes = tensor.shape().elements() * dtype.bytes();
        long crc = crc(tensor.memory(), tensor.offset() * dtype.bytes(), bytes, room);
        return line(dtype, tensor.shape(), crc);
    }

    private static String line(Object type, Shape shape, long crc) {
        return type + " " + shape + " " + Long.toHexString(crc);
    }

    private static long crc(MemorySegment memory, long offset, long bytes, byte[] room) {
        CRC32C crc = new CRC32C();
        MemorySegment array = MemorySegment.ofArray(room);
        for (long at = 0; at < bytes; at += CHUNK) {
            int count = (int) Math.min(CHUNK, bytes - at);
            MemorySegment.copy(memory, offset + at, array, 0, count);
            crc.update(room, 0, count);
        }
        return crc.getValue();
    }
}
