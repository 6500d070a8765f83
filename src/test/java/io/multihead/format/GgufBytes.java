package io.multihead.format;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** The bytes of a valid or invalid GGUF file, written field by field from the specification. */
final class GgufBytes {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    /** Returns a file that begins with a valid header. */
    static GgufBytes header(int tensors, int pairs) {
        return new GgufBytes().raw("GGUF").u32(3).u64(tensors).u64(pairs);
    }

    GgufBytes raw(String text) {
        bytes.writeBytes(text.getBytes(StandardCharsets.UTF_8));
        return this;
    }

    GgufBytes raw(int... values) {
        for (int value : values) {
            bytes.write(value);
        }
        return this;
    }

    GgufBytes u16(int value) {
        return raw(value & 255, value >> 8 & 255);
    }

    GgufBytes u32(long value) {
        return put(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt((int) value));
    }

    GgufBytes u64(long value) {
        return put(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value));
    }

    GgufBytes f32(float value) {
        return u32(Float.floatToRawIntBits(value));
    }

    GgufBytes f64(double value) {
        return u64(Double.doubleToRawLongBits(value));
    }

    private GgufBytes put(ByteBuffer buffer) {
        bytes.writeBytes(buffer.array());
        return this;
    }

    GgufBytes text(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        u64(utf8.length);
        bytes.writeBytes(utf8);
        return this;
    }

    /** Adds the key and type of a pair. The value must follow. */
    GgufBytes key(String key, int type) {
        return text(key).u32(type);
    }

    GgufBytes alignment(long value) {
        return key("general.alignment", 4).u32(value);
    }

    /** Adds the description of a tensor. Sizes are in the order of the file, innermost first. */
    GgufBytes tensor(String name, int type, long offset, long... dims) {
        text(name).u32(dims.length);
        for (long dim : dims) {
            u64(dim);
        }
        return u32(type).u64(offset);
    }

    /** Adds zeros up to a multiple of {@code alignment}. */
    GgufBytes align(int alignment) {
        while (bytes.size() % alignment != 0) {
            bytes.write(0);
        }
        return this;
    }

    GgufBytes zeros(int count) {
        bytes.writeBytes(new byte[count]);
        return this;
    }

    int size() {
        return bytes.size();
    }

    byte[] toArray() {
        return bytes.toByteArray();
    }

    Gguf parse() {
        return Gguf.parse(MemorySegment.ofArray(toArray()));
    }
}
