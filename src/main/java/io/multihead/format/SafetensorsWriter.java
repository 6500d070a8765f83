package io.multihead.format;

import io.multihead.internal.base.AtomicFile;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

/** Writes safetensors files that appear whole or not at all. */
final class SafetensorsWriter {
    private SafetensorsWriter() {}

    static void write(Path file, Map<String, LazyTensor> tensors, Map<String, String> metadata) throws IOException {
        AtomicFile.requireName(file);
        requireNoNulls(tensors, "tensors");
        requireNoNulls(metadata, "metadata");
        byte[] header = header(tensors, metadata);
        AtomicFile.write(file, "safetensors", to -> {
            ByteBuffer length = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            to.append(length.putLong(header.length).flip());
            to.append(ByteBuffer.wrap(header));
            for (Map.Entry<String, LazyTensor> entry : tensors.entrySet()) {
                append(to, entry.getValue(), "tensor \"" + entry.getKey() + "\"");
            }
        });
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

    /** The header, padded with spaces so that the data starts at a multiple of 8. */
    private static byte[] header(Map<String, LazyTensor> tensors, Map<String, String> metadata) {
        StringBuilder json = new StringBuilder("{\"__metadata__\":{");
        String comma = "";
        for (Map.Entry<String, String> entry : metadata.entrySet()) {
            String what = "metadata \"" + entry.getKey() + "\"";
            json.append(comma).append(quoted(entry.getKey(), what));
            json.append(':').append(quoted(entry.getValue(), what));
            comma = ",";
        }
        json.append('}');
        long at = 0;
        for (Map.Entry<String, LazyTensor> entry : tensors.entrySet()) {
            LazyTensor tensor = entry.getValue();
            String what = "tensor \"" + entry.getKey() + "\"";
            if (tensor.shape().elements()
                    > (Long.MAX_VALUE - at) / tensor.dtype().bytes()) {
                throw Checks.fail(what, tensor.dtype() + " " + tensor.shape(), "expected fewer than 2^63 bytes in all");
            }
            long end = at + tensor.shape().elements() * tensor.dtype().bytes();
            if (entry.getKey().equals(Safetensors.METADATA)) {
                throw Checks.fail(what, "the name of the file's metadata", "expected another name");
            }
            json.append(',').append(quoted(entry.getKey(), what));
            json.append(":{\"dtype\":\"").append(tensor.dtype()).append("\",\"shape\":");
            json.append(Arrays.toString(tensor.shape().toArray()));
            json.append(",\"data_offsets\":[")
                    .append(at)
                    .append(',')
                    .append(end)
                    .append("]}");
            at = end;
        }
        byte[] unpadded = json.append('}').toString().getBytes(StandardCharsets.UTF_8);
        byte[] header = Arrays.copyOf(unpadded, (unpadded.length + 7) / 8 * 8);
        Arrays.fill(header, unpadded.length, header.length, (byte) ' ');
        return header;
    }

    private static String quoted(String text, String what) {
        if (Json.unpaired(text)) {
            throw Checks.fail(what, "an unpaired surrogate", "expected text that UTF-8 can hold");
        }
        StringBuilder result = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                result.append('\\').append(c);
            } else if (c < ' ') {
                result.append(String.format("\\u%04x", (int) c));
            } else {
                result.append(c);
            }
        }
        return result.append('"').toString();
    }
}
