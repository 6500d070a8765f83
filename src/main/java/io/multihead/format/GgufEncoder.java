package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** The bytes of GGUF's numbers and texts, in the order of the file. Belongs to one thread. */
final class GgufEncoder {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    /** Appends the lowest bytes of a number: 1, 2, 4 or 8. */
    GgufEncoder integer(long value, int size) {
        ByteBuffer buffer = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.write(buffer.putLong(value).array(), 0, size);
        return this;
    }

    GgufEncoder u32(long value) {
        return integer(value, Integer.BYTES);
    }

    GgufEncoder u64(long value) {
        return integer(value, Long.BYTES);
    }

    /** Appends the length of a text and the text. It fails for a text that UTF-8 cannot hold. */
    GgufEncoder text(String text, String what) {
        if (Json.unpaired(text)) {
            throw Checks.fail(what, "an unpaired surrogate", "expected text that UTF-8 can hold");
        }
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        u64(utf8.length);
        bytes.writeBytes(utf8);
        return this;
    }

    GgufEncoder append(byte[] raw) {
        bytes.writeBytes(raw);
        return this;
    }

    /** Appends the prefix of an array: type and length. */
    GgufEncoder array(GgufType elements, long count) {
        return u32(elements.ordinal()).u64(count);
    }

    /** Appends zeros up to a multiple of the alignment. */
    GgufEncoder align(long alignment) {
        return append(new byte[(int) (Math.ceilDiv(bytes.size(), alignment) * alignment - bytes.size())]);
    }

    byte[] toArray() {
        return bytes.toByteArray();
    }

    MemorySegment toSegment() {
        return MemorySegment.ofArray(toArray()).asReadOnly();
    }
}
