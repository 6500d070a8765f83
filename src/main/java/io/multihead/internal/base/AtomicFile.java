package io.multihead.internal.base;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/** A file in the process of being written, which appears under its name completely or not at all. Belongs to one thread. */
public final class AtomicFile {
    /** The number of bytes that are written at a time. */
    private static final int PIECE = 1 << 20;

    private final FileChannel channel;
    private final ByteBuffer piece;

    private AtomicFile(FileChannel channel, Arena arena) {
        this.channel = channel;
        piece = arena.allocate(PIECE).asByteBuffer();
    }

    /** The contents of a file. */
    @FunctionalInterface
    public interface Body {
        /** Writes the whole contents. */
        void writeTo(AtomicFile file) throws IOException;
    }

    /** Fails unless a path ends in a file name. */
    public static void requireName(Path file) {
        Path name = Checks.notNull(file, "file").getFileName();
        if (name == null || name.toString().isEmpty()) {
            throw Checks.fail("file", "\"" + file + "\"", "expected a path that ends in a file name");
        }
    }

    /**
     * Writes a file {@code prefix-*.tmp} in the same folder, forces it to the device and moves it to its name, replacing an older file. The
     * temporary file is deleted if anything fails, and if the JVM ends during the call, for example after Ctrl-C.
     */
    public static void write(Path file, String prefix, Body body) throws IOException {
        requireName(file);
        // not Files.createTempFile, whose files only their owner may read; the name does not contain the name of the
        // file, which may
        // already have the maximum length
        Path temporary = file.resolveSibling(prefix + "-" + UUID.randomUUID() + ".tmp");
        FileChannel channel = create(temporary, file);
        Thread end = new Thread(() -> delete(temporary));
        boolean ends = !addHook(end);
        try {
            try (channel;
                    Arena arena = Arena.ofConfined()) {
                body.writeTo(new AtomicFile(channel, arena));
                channel.force(true);
            }
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(temporary);
            if (!ends) {
                removeHook(end);
            }
        }
    }

    /** Adds a task for the JVM's shutdown, or returns false if the shutdown has begun. */
    private static boolean addHook(Thread end) {
        try {
            Runtime.getRuntime().addShutdownHook(end);
            return true;
        } catch (IllegalStateException ends) {
            return false;
        }
    }

    private static void removeHook(Thread end) {
        try {
            Runtime.getRuntime().removeShutdownHook(end);
        } catch (IllegalStateException ends) {
            // the shutdown has begun: the hook runs, and finds no file
        }
    }

    private static void delete(Path temporary) {
        try {
            Files.deleteIfExists(temporary);
        } catch (IOException kept) {
            // there is no caller to inform
        }
    }

    /** Creates the temporary file; errors name the file that the caller requested. */
    private static FileChannel create(Path temporary, Path file) throws IOException {
        try {
            return FileChannel.open(temporary, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
        } catch (NoSuchFileException missing) {
            throw caused(new NoSuchFileException(file.toString(), null, "its folder does not exist"), missing);
        } catch (AccessDeniedException denied) {
            throw caused(new AccessDeniedException(file.toString(), null, "no file can be made in its folder"), denied);
        }
    }

    private static IOException caused(IOException named, IOException cause) {
        named.initCause(cause);
        return named;
    }

    public void append(ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    /**
     * Appends memory of any kind and size, piece by piece through a buffer, since a channel that writes memory of a shared arena prevents
     * the arena from being closed.
     */
    public void append(MemorySegment memory) throws IOException {
        for (long at = 0; at < memory.byteSize(); at += PIECE) {
            int length = (int) Math.min(PIECE, memory.byteSize() - at);
            MemorySegment.copy(memory, at, MemorySegment.ofBuffer(piece.clear()), 0, length);
            append(piece.limit(length));
        }
    }
}
