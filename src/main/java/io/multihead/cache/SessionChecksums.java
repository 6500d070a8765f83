package io.multihead.cache;

import io.multihead.format.LazyTensor;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Crc32c;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The checksums of a session file: the CRC-32C of the metadata, then the checksum of each tensor, in their order. They are the last tensor,
 * since a tensor's checksum is known only when it is written. Names, types and sizes of tensors have no checksum, because they must equal
 * the cache's.
 */
final class SessionChecksums {
    static final String NAME = "checksums";
    private static final ValueLayout.OfInt NUMBER = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Safetensors file;
    /** Names of the other tensors, in the file's order. */
    private final List<String> names;

    private final Crc32c crc = new Crc32c();

    private SessionChecksums(Safetensors file) {
        this.file = file;
        names = new ArrayList<>(file.names());
        names.remove(NAME);
    }

    /** Returns the tensors of a file and their checksums; the checksum of a tensor is computed when the tensor is made. */
    static Map<String, LazyTensor> added(Map<String, String> metadata, Map<String, LazyTensor> tensors) {
        Crc32c crc = new Crc32c();
        List<Integer> made = new ArrayList<>(List.of(of(metadata, crc)));
        Map<String, LazyTensor> all = new LinkedHashMap<>();
        tensors.forEach((name, lazy) -> all.put(name, new LazyTensor(lazy.dtype(), lazy.shape(), arena -> {
            Tensor tensor = lazy.contents().apply(arena);
            made.add(of(tensor, crc));
            return tensor;
        })));
        Shape shape = shape(tensors.size());
        all.put(NAME, new LazyTensor(DType.I8, shape, arena -> tensor(made, shape, arena)));
        return all;
    }

    private static Shape shape(int tensors) {
        return Shape.of(1 + tensors, NUMBER.byteSize());
    }

    private static Tensor tensor(List<Integer> sums, Shape shape, Arena arena) {
        Tensor tensor = Tensor.allocate(arena, DType.I8, shape);
        for (int i = 0; i < sums.size(); i++) {
            tensor.memory().set(NUMBER, tensor.offset() + i * NUMBER.byteSize(), sums.get(i));
        }
        return tensor;
    }

    /** Fails unless a file has the checksum of its metadata, and room for the checksums of its tensors. */
    static SessionChecksums read(Safetensors file) {
        SessionChecksums sums = new SessionChecksums(file);
        Tensor tensor = file.get(NAME);
        Shape expected = shape(sums.names.size());
        if (tensor.dtype() != DType.I8 || !tensor.shape().equals(expected)) {
            throw Checks.fail(
                    NAME, tensor.toString(), "expected I8 " + expected + ", as in " + sums.names.size() + " tensors");
        }
        sums.require(0, of(file.metadata(), sums.crc), "metadata");
        return sums;
    }

    /** Fails unless all tensors have their checksums; reads the whole file. */
    void requireTensors() {
        for (int i = 0; i < names.size(); i++) {
            require(1 + i, of(file.get(names.get(i)), crc), "tensor \"" + names.get(i) + "\"");
        }
    }

    private void require(int index, int actual, String what) {
        Tensor sums = file.get(NAME);
        int expected = sums.memory().get(NUMBER, sums.offset() + index * NUMBER.byteSize());
        if (actual != expected) {
            throw Checks.fail(
                    what,
                    "CRC-32C " + Integer.toHexString(actual),
                    "expected " + Integer.toHexString(expected) + ", as when the file was written");
        }
    }

    /** Returns the checksum of a dense tensor. */
    private static int of(Tensor tensor, Crc32c crc) {
        long bytes = tensor.dtype().bytes();
        return crc.of(tensor.memory(), tensor.offset() * bytes, tensor.shape().elements() * bytes);
    }

    private static int of(Map<String, String> metadata, Crc32c crc) {
        StringBuilder texts = new StringBuilder();
        new TreeMap<>(metadata)
                .forEach((name, text) ->
                        texts.append(name).append('\n').append(text).append('\n'));
        byte[] bytes = texts.toString().getBytes(StandardCharsets.UTF_8);
        return crc.of(MemorySegment.ofArray(bytes), 0, bytes.length);
    }
}
