package io.multihead.decoder;

import io.multihead.internal.base.Crc32c;
import io.multihead.internal.load.StoredWeight;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Identifies a model for session files. Keys and values of one model are meaningless to another model, even to the same model after more
 * training. The checksum covers the settings ({@link ModelSettings}) and the name, type, shape and bytes of each tensor. The checksum is
 * computed once, when it is first requested. Thread-safe.
 */
final class ModelIdentity {
    private static final int DIGITS = 32;

    private final String name;
    private final int vocabulary;
    private final String settings;
    private final Tensors tensors;
    private @Nullable String checksum;

    /**
     * The tensors of a model.
     *
     * @param file the file with the weights; null for a model that a program has made of parts
     * @param names the names of the model's tensors
     * @param checksum the checksum of the original file that a packed file stores; otherwise null
     */
    record Tensors(
            @Nullable WeightSource file,
            Set<String> names,
            @Nullable String checksum) {
        static final Tensors NONE = new Tensors(null, Set.of(), null);

        static Tensors of(Weights weights) {
            return new Tensors(weights.source(), weights.own(), null);
        }

        static Tensors of(String checksum) {
            return new Tensors(null, Set.of(), checksum);
        }
    }

    ModelIdentity(String name, int vocabulary, String settings, Tensors tensors) {
        this.name = name;
        this.vocabulary = vocabulary;
        this.settings = settings;
        this.tensors = tensors;
        this.checksum = tensors.checksum;
    }

    String name() {
        return name;
    }

    /** Returns the number of tokens of the vocabulary that the model may read. */
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
        WeightSource file = tensors.file();
        if (file == null) {
            throw new IllegalStateException(
                    "model: made of parts; expected a model from a file, since a saved session belongs to the file's tensors");
        }
        MessageDigest digest = sha256();
        add(digest, settings);
        Crc32c crc = new Crc32c();
        for (String tensor : new TreeSet<>(tensors.names())) {
            StoredWeight stored = file.get(tensor, Shape.of());
            BlockTensor blocks = stored.blocks();
            add(digest, tensor + " " + (blocks != null ? line(blocks, crc) : line(stored.plain(), crc)));
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
            // every Java platform has SHA-256
            throw new IllegalStateException(impossible);
        }
    }

    private static String line(BlockTensor blocks, Crc32c crc) {
        return line(blocks.type(), blocks.shape(), crc.of(blocks.memory(), blocks.offset(), blocks.bytes()));
    }

    /** Returns the line of a tensor, which is dense because it comes from a file. */
    private static String line(Tensor tensor, Crc32c crc) {
        DType dtype = tensor.dtype();
        long bytes = tensor.shape().elements() * dtype.bytes();
        return line(dtype, tensor.shape(), crc.of(tensor.memory(), tensor.offset() * dtype.bytes(), bytes));
    }

    private static String line(Object type, Shape shape, int crc) {
        return type + " " + shape + " " + Integer.toHexString(crc);
    }
}
