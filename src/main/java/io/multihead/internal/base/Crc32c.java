package io.multihead.internal.base;

import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/** CRC-32C of memory (RFC 3720, appendix B.4). Not thread-safe. */
public final class Crc32c {
    /** The number of bytes that are copied at a time: segments of heap arrays of other types than byte have no ByteBuffer. */
    private static final int CHUNK = 1 << 16;

    private final CRC32C crc = new CRC32C();
    private final byte[] buffer = new byte[CHUNK];

    /** Returns the checksum of {@code bytes} bytes from {@code offset} on. */
    public int of(MemorySegment memory, long offset, long bytes) {
        MemorySegment array = MemorySegment.ofArray(buffer);
        crc.reset();
        for (long at = 0; at < bytes; at += CHUNK) {
            int count = (int) Math.min(CHUNK, bytes - at);
            MemorySegment.copy(memory, offset + at, array, 0, count);
            crc.update(buffer, 0, count);
        }
        return (int) crc.getValue();
    }
}
