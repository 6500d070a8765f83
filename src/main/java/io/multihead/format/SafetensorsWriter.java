package io.multihead.format;

import io.multihead.internal.base.AtomicFile;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.base.NativeMemory;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes safetensors files that appear completely or not at all. */
final class SafetensorsWriter {
    /** The largest number of bytes of a header that is written or read: the limit of the format's reference implementation. */
    static final long LONGEST_HEADER = 100_000_000;

    /** The member of the header that is not a tensor. */
    static final String METADATA = "__metadata__";

    /** Bytes of a cache line; the format itself requires 8. */
    private static final int ALIGNMENT = 64;

    private SafetensorsWriter() {}

    static void write(Path file, Map<String, LazyTensor> tensors, Map<String, String> metadata) throws IOException {
        NativeMemory.requireLittleEndian("safetensors");
        AtomicFile.requireName(file);
        requireNoNulls(tensors, "tensors");
        requireNoNulls(metadata, "metadata");
        byte[] header = header(tensors, metadata);
        requireReadable(header.length);
        AtomicFile.write(file, "safetensors", to -> {
            ByteBuffer length = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            to.append(length.putLong(header.length).flip());
            to.append(ByteBuffer.wrap(header));
            for (Map.Entry<String, LazyTensor> entry : tensors.entrySet()) {
                append(to, entry.getValue(), "tensor \"" + entry.getKey() + "\"");
            }
        });
    }

    /** Fails for a header that {@link Safetensors} would refuse. */
    static void requireReadable(int header) {
        if (header > LONGEST_HEADER) {
            throw Checks.fail("header", header + " bytes", "expected at most " + LONGEST_HEADER);
        }
    }

    private static void requireNoNulls(Map<String, ?> map, String argument) {
        Checks.notNull(map, argument).forEach((key, value) -> {
            Checks.notNull(key, argument + " name");
            Checks.notNull(value, argument + " \"" + key + "\"");
        });
    }

    private static void append(AtomicFile to, LazyTensor lazy, String what) throws IOException {
        try (Arena arena = Arena.ofShared()) {
            Tensor tensor = lazy.make(arena, what);
            Tensor dense = tensor.isDense() ? tensor : tensor.copy(arena, tensor.dtype());
            long bytes = dense.shape().elements() * dense.dtype().bytes();
            if (bytes > 0) {
                to.append(dense.memory().asSlice(dense.offset() * dense.dtype().bytes(), bytes));
            }
        }
    }

    /** Returns the header, padded with spaces so that the data starts on a cache line of a mapped file. */
    private static byte[] header(Map<String, LazyTensor> tensors, Map<String, String> metadata) {
        metadata.forEach((key, text) -> {
            requireText(key, "metadata \"" + key + "\"");
            requireText(text, "metadata \"" + key + "\"");
        });
        Map<String, Object> members = new LinkedHashMap<>();
        members.put(METADATA, metadata);
        long at = 0;
        for (Map.Entry<String, LazyTensor> entry : tensors.entrySet()) {
            LazyTensor tensor = entry.getValue();
            String what = "tensor \"" + entry.getKey() + "\"";
            if (tensor.shape().elements()
                    > (Long.MAX_VALUE - at) / tensor.dtype().bytes()) {
                throw Checks.fail(what, tensor.dtype() + " " + tensor.shape(), "expected fewer than 2^63 bytes in all");
            }
            if (entry.getKey().equals(METADATA)) {
                throw Checks.fail(what, "the name of the file's metadata", "expected another name");
            }
            requireText(entry.getKey(), what);
            long end = at + tensor.shape().elements() * tensor.dtype().bytes();
            members.put(entry.getKey(), described(tensor, at, end));
            at = end;
        }
        byte[] unpadded = JsonWriter.write("header", members).getBytes(StandardCharsets.UTF_8);
        int padded = Math.ceilDiv(Long.BYTES + unpadded.length, ALIGNMENT) * ALIGNMENT - Long.BYTES;
        byte[] header = Arrays.copyOf(unpadded, padded);
        Arrays.fill(header, unpadded.length, padded, (byte) ' ');
        return header;
    }

    private static void requireText(String text, String what) {
        if (Json.unpaired(text)) {
            throw Checks.fail(what, "an unpaired surrogate", "expected text that UTF-8 can hold");
        }
    }

    private static Map<String, Object> described(LazyTensor tensor, long from, long to) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("dtype", tensor.dtype().toString());
        members.put("shape", Arrays.stream(tensor.shape().toArray()).boxed().toList());
        members.put("data_offsets", List.of(from, to));
        return members;
    }
}
