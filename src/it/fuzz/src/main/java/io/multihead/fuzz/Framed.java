package io.multihead.fuzz;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Safetensors files as inputs: a header, a zero byte and the data. The length of the header is computed, since nearly
 * every mutation of a header changes it. The header is padded so that the data begins on a cache line. Inputs that do
 * not begin with a brace are whole files.
 */
final class Framed {
    private static final int CACHE_LINE = 64;

    private Framed() {}

    /** Returns the file of an input. */
    static byte[] file(byte[] input) {
        if (input.length == 0 || input[0] != '{') {
            return input;
        }
        int header = 0;
        while (header < input.length && input[header] != 0) {
            header++;
        }
        int data = Math.max(0, input.length - header - 1);
        int padding = -(Long.BYTES + header) & CACHE_LINE - 1;
        return ByteBuffer.allocate(Long.BYTES + header + padding + data)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(header + padding)
                .put(input, 0, header)
                .put(" ".repeat(padding).getBytes(StandardCharsets.UTF_8))
                .put(input, input.length - data, data)
                .array();
    }

    /** Returns the input of a file. */
    static byte[] input(byte[] file) {
        ByteBuffer bytes = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        int header = Math.toIntExact(bytes.getLong());
        int data = bytes.remaining() - header;
        return ByteBuffer.allocate(header + 1 + data)
                .put(file, Long.BYTES, header)
                .put((byte) 0)
                .put(file, Long.BYTES + header, data)
                .array();
    }
}
