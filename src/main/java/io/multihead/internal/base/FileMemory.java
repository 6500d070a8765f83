package io.multihead.internal.base;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/** Whole files as memory. */
public final class FileMemory {
    /** The number of bytes that are read at a time. */
    private static final int PIECE = 1 << 20;

    /** The size of the first memory for a file, before any byte has been read. */
    private static final long FIRST = 16 * PIECE;

    /** The largest ratio of the next memory to the number of bytes that were read. */
    private static final long GROWTH = 16;

    /** A cache line, at which mapped files also begin. */
    private static final long ALIGNMENT = 64;

    private FileMemory() {}

    /**
     * Returns a file as read-only memory that lives as long as the arena: mapped if the file is on the default file system; files of other
     * file systems, such as archives, cannot be mapped and are read into native memory of the arena.
     */
    public static MemorySegment of(Path file, Arena arena) throws IOException {
        return named(file, () -> {
            if (file.getFileSystem() == FileSystems.getDefault()) {
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
                    return requireFile(file, channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena));
                }
            }
            try (InputStream in = Files.newInputStream(file)) {
                return requireFile(
                        file,
                        read(in, Files.size(file), MemorySegment.NULL, arena).asReadOnly());
            }
        });
    }

    public static byte[] bytes(Path file) throws IOException {
        return named(file, () -> {
            byte[] bytes = Files.readAllBytes(file);
            Downloads.requireFile(file, Arrays.copyOf(bytes, Math.min(bytes.length, Downloads.HEAD)));
            return bytes;
        });
    }

    /** Returns the first bytes of a file, at most the requested number. */
    public static byte[] head(Path file, int bytes) throws IOException {
        return named(file, () -> {
            try (InputStream in = Files.newInputStream(file)) {
                byte[] head = in.readNBytes(Math.max(bytes, Downloads.HEAD));
                Downloads.requireFile(file, head);
                return Arrays.copyOf(head, Math.min(head.length, bytes));
            }
        });
    }

    private static MemorySegment requireFile(Path file, MemorySegment memory) {
        long length = Math.min(memory.byteSize(), Downloads.HEAD);
        Downloads.requireFile(file, memory.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
        return memory;
    }

    /** Reads a file, and adds its name and its place to errors of the system that lack them. */
    private static <T> T named(Path file, Checks.Reading<T, IOException> reading) throws IOException {
        Checks.notFolder(file);
        try {
            return reading.read();
        } catch (NoSuchFileException missing) {
            throw Checks.missing(file);
        } catch (ClosedByInterruptException interrupted) {
            IOException named = new InterruptedIOException(file + ": the thread that reads it was interrupted");
            named.initCause(interrupted);
            throw named;
        }
    }

    /**
     * Releases pages of a mapped file from this process's memory after they were copied. They are read again if they are accessed. Other
     * memory does not change.
     */
    public static void release(MemorySegment memory, long offset, long bytes) {
        if (memory.isMapped() && bytes > 0) {
            memory.asSlice(offset, bytes).unload();
        }
    }

    /**
     * Reads the rest of a file after {@code head}, which has been read. The size is a claim of the archive: at most {@link #GROWTH} times
     * the present memory is allocated for it.
     */
    static MemorySegment read(InputStream in, long size, MemorySegment head, Arena arena) throws IOException {
        long length = Math.min(size, Math.max(FIRST, GROWTH * head.byteSize()));
        if (length == size) {
            MemorySegment whole = arena.allocate(size, ALIGNMENT);
            fill(in, head, whole, size);
            if (in.read() >= 0) {
                throw new IOException("more than the " + size + " bytes that the file system reports");
            }
            return whole;
        }
        try (Arena own = Arena.ofConfined()) {
            MemorySegment longer = own.allocate(length, ALIGNMENT);
            fill(in, head, longer, size);
            return read(in, size, longer, arena);
        }
    }

    private static void fill(InputStream in, MemorySegment head, MemorySegment to, long size) throws IOException {
        to.copyFrom(head);
        byte[] piece = new byte[PIECE];
        for (long at = head.byteSize(); at < to.byteSize(); ) {
            int count = in.read(piece, 0, (int) Math.min(PIECE, to.byteSize() - at));
            if (count < 0) {
                throw new EOFException(at + " bytes; expected the " + size + " that the file system reports");
            }
            MemorySegment.copy(MemorySegment.ofArray(piece), 0, to, at, count);
            at += count;
        }
    }
}
