package io.multihead.internal.base;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The wire format of protocol buffers, read as a stream. No length in the file causes an allocation: arrays grow with the bytes
 * that arrive, so a file with false lengths costs no more memory than it has bytes.
 *
 * @see <a href="https://protobuf.dev/programming-guides/encoding">the format</a>
 */
public final class ProtoReader {
    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int BYTES = 2;
    private static final int FIXED32 = 5;

    private static final ValueLayout.OfFloat LITTLE_ENDIAN =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int BUFFER = 1 << 16;
    private static final int FIRST_FLOATS = 1 << 12;
    private static final int LONGEST_TEXT = 1 << 16;
    private static final int MOST_INTEGERS = 16;

    private final String source;
    private final InputStream in;
    private final ByteBuffer buffer =
            ByteBuffer.allocate(BUFFER).order(ByteOrder.LITTLE_ENDIAN).limit(0);

    private final MemorySegment bytes = MemorySegment.ofArray(buffer.array());
    /** The number of bytes that were in the buffer before its present contents. */
    private long before;
    /** The end of the current message. */
    private long end = Long.MAX_VALUE;

    private int wireType;

    /** Reads a stream; {@code source} is its name in messages. */
    public ProtoReader(String source, InputStream in) {
        this.source = source;
        this.in = in;
    }

    /** Returns the number of the next field of this message, or 0 at its end. */
    public int field() throws IOException {
        if (position() == end || end == Long.MAX_VALUE && !fill(1)) {
            return 0;
        }
        long tag = varint();
        wireType = (int) (tag & 7);
        int field = (int) (tag >>> 3);
        if (field <= 0 || tag >>> 3 > 0x1fffffff) {
            throw fail("field " + (tag >>> 3), "expected 1 to 2^29 - 1");
        }
        return field;
    }

    /** Begins the message in this field, and returns the argument of {@link #leave}. */
    public long enter() throws IOException {
        long outer = end;
        long length = length();
        end = position() + length;
        return outer;
    }

    /** Returns to the message around the one that has been read. */
    public void leave(long outer) {
        end = outer;
    }

    public long integer() throws IOException {
        require(VARINT);
        return varint();
    }

    /** Returns a 32-bit number. */
    public float real() throws IOException {
        require(FIXED32);
        int bits = 0;
        for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
            bits |= (next() & 0xff) << shift;
        }
        return Float.intBitsToFloat(bits);
    }

    public String text() throws IOException {
        long length = length();
        if (length > LONGEST_TEXT) {
            throw fail("a text of " + length + " bytes", "expected at most " + LONGEST_TEXT);
        }
        byte[] bytes = new byte[(int) length];
        for (int at = 0; at < length; at++) {
            bytes[at] = next();
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Appends the integers of a repeated field, packed or not, to earlier ones, and returns them. */
    public long[] integers(long[] earlier) throws IOException {
        if (wireType == VARINT) {
            return append(earlier, varint());
        }
        long[] all = earlier;
        long outer = enter();
        while (position() < end) {
            all = append(all, varint());
        }
        leave(outer);
        return all;
    }

    private long[] append(long[] values, long value) {
        if (values.length == MOST_INTEGERS) {
            throw fail("more than " + MOST_INTEGERS + " integers", "expected the sizes of a tensor");
        }
        long[] longer = Arrays.copyOf(values, values.length + 1);
        longer[values.length] = value;
        return longer;
    }

    /**
     * Returns the little-endian floats of a field of bytes: in native memory of an arena if there are arenas and the stream reports all
     * bytes as available, otherwise in an array that grows with the bytes that arrive.
     */
    public MemorySegment floats(@Nullable Supplier<Arena> arenas) throws IOException {
        long length = length();
        if (length % Float.BYTES != 0 || length / Float.BYTES > Integer.MAX_VALUE - 8) {
            throw fail(length + " bytes of floats", "expected a multiple of 4 below 2^33");
        }
        int count = (int) (length / Float.BYTES);
        int available = (int) ((buffer.remaining() + (long) in.available()) / Float.BYTES);
        if (arenas != null && count <= available) {
            MemorySegment memory = arenas.get().allocate(length, Float.BYTES);
            floats(memory, 0, count);
            return memory;
        }
        // the number of floats that the stream reports as available, and at least a few
        float[] values = new float[Math.min(count, Math.max(FIRST_FLOATS, available))];
        floats(MemorySegment.ofArray(values), 0, values.length);
        while (values.length < count) {
            int done = values.length;
            values = Arrays.copyOf(values, (int) Math.min(count, 2L * done));
            floats(MemorySegment.ofArray(values), done, values.length);
        }
        return MemorySegment.ofArray(values);
    }

    private void floats(MemorySegment to, int from, int end) throws IOException {
        for (int at = from; at < end; ) {
            if (!fill(Float.BYTES)) {
                throw ended();
            }
            int ready = Math.min(end - at, buffer.remaining() / Float.BYTES);
            long offset = at * (long) Float.BYTES;
            MemorySegment.copy(bytes, LITTLE_ENDIAN, buffer.position(), to, ValueLayout.JAVA_FLOAT, offset, ready);
            buffer.position(buffer.position() + ready * Float.BYTES);
            at += ready;
        }
    }

    /** Returns a field of bytes, in an array that grows with the bytes that arrive. */
    public byte[] bytes() throws IOException {
        long length = length();
        byte[] bytes = new byte[(int) Math.min(length, BUFFER)];
        for (long at = 0; at < length; ) {
            if (!fill(1)) {
                throw ended();
            }
            if (at == bytes.length) {
                bytes = Arrays.copyOf(bytes, (int) Math.min(length, Math.min(2L * at, Checks.MAX_ARRAY_LENGTH)));
            }
            int now = Math.min(bytes.length - (int) at, buffer.remaining());
            buffer.get(bytes, (int) at, now);
            at += now;
        }
        return bytes;
    }

    /** Reads past a field. */
    public void skip() throws IOException {
        switch (wireType) {
            case VARINT -> varint();
            case FIXED64 -> skip(Long.BYTES);
            case BYTES -> skip(length());
            case FIXED32 -> skip(Integer.BYTES);
            default -> throw fail("wire type " + wireType, "expected 0, 1, 2 or 5");
        }
    }

    private void skip(long length) throws IOException {
        for (long rest = length; rest > 0; ) {
            if (!fill(1)) {
                throw ended();
            }
            int now = (int) Math.min(rest, buffer.remaining());
            buffer.position(buffer.position() + now);
            rest -= now;
        }
    }

    private long length() throws IOException {
        require(BYTES);
        long length = varint();
        // a message that ends at 2^63 - 1 would look like the outermost message, which ends with the stream
        if (length < 0 || length > end - position() || length == Long.MAX_VALUE - position()) {
            throw fail("a field of " + Long.toUnsignedString(length) + " bytes", "expected a field within its message");
        }
        return length;
    }

    private void require(int expected) {
        if (wireType != expected) {
            throw fail("wire type " + wireType, "expected " + expected);
        }
    }

    private long varint() throws IOException {
        long value = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            byte next = next();
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                return value;
            }
        }
        throw fail("an integer of more than 10 bytes", "expected at most 10");
    }

    private byte next() throws IOException {
        if (position() >= end || !fill(1)) {
            throw ended();
        }
        return buffer.get();
    }

    /** Makes bytes available, or returns false if the stream ends before. */
    private boolean fill(int bytes) throws IOException {
        if (buffer.remaining() >= bytes) {
            return true;
        }
        before += buffer.position();
        buffer.compact();
        while (buffer.position() < bytes) {
            int read = in.read(buffer.array(), buffer.position(), buffer.remaining());
            if (read < 0) {
                break;
            }
            buffer.position(buffer.position() + read);
        }
        buffer.flip();
        return buffer.remaining() >= bytes;
    }

    private long position() {
        return before + buffer.position();
    }

    private IllegalArgumentException ended() {
        return fail("ends too early", "expected more bytes");
    }

    /** Returns the exception for the value at this position. */
    public IllegalArgumentException fail(String actual, String expected) {
        return Checks.fail(source, "at byte " + position() + ": " + actual, expected);
    }
}
