package io.multihead.format;

import io.multihead.internal.base.Checks;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/** Text of a file as UTF-8 (RFC 3629), which is checked in place, without an object per text. */
final class Utf8 {
    /** The high bits of eight bytes, which are 0 in ASCII. */
    private static final long HIGH_BITS = 0x8080808080808080L;

    private Utf8() {}

    /** Fails unless all bytes from {@code at} to {@code end - 1} are well-formed. */
    static void require(MemorySegment memory, long at, long end, String what) {
        long next = at;
        while (next < end) {
            if (end - next >= Long.BYTES && (memory.get(ValueLayout.JAVA_LONG_UNALIGNED, next) & HIGH_BITS) == 0) {
                next += Long.BYTES;
                continue;
            }
            int length = length(memory, next, end);
            if (length == 0) {
                throw Checks.fail(
                        what,
                        "byte " + (memory.get(ValueLayout.JAVA_BYTE, next) & 255) + " at index " + (next - at)
                                + " of text",
                        "expected UTF-8");
            }
            next += length;
        }
    }

    /** Returns the text of checked bytes. */
    static String text(MemorySegment memory, long at, long end) {
        byte[] bytes = new byte[Math.toIntExact(end - at)];
        MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, at, bytes, 0, bytes.length);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Returns the number of bytes of the well-formed character that begins here, or 0 if there is none. */
    private static int length(MemorySegment memory, long at, long end) {
        int first = memory.get(ValueLayout.JAVA_BYTE, at);
        if (first >= 0) {
            return 1;
        }
        int lead = first & 255;
        int length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
        if (length == 0 || end - at < length) {
            return 0;
        }
        // no overlong form, no surrogate, nothing above U+10FFFF
        int least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        int most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        for (int i = 1; i < length; i++) {
            int next = memory.get(ValueLayout.JAVA_BYTE, at + i) & 255;
            if (next < least || next > most) {
                return 0;
            }
            least = 0x80;
            most = 0xbf;
        }
        return length;
    }
}
