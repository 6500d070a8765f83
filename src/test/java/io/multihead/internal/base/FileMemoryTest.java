package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that are mapped or read into memory. */
class FileMemoryTest {
    @TempDir
    Path folder;

    /** An arena that counts its allocations. */
    private static final class CountingArena implements Arena {
        final Arena arena = Arena.ofConfined();
        long bytes;

        @Override
        public MemorySegment allocate(long byteSize, long byteAlignment) {
            bytes += byteSize;
            return arena.allocate(byteSize, byteAlignment);
        }

        @Override
        public MemorySegment.Scope scope() {
            return arena.scope();
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, (1 << 20) + 3, (16 << 20) + 1, 40_000_000})
    void aFileHasTheSameBytesMappedAndInAnArchive(int size) throws IOException {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        Path plain = Files.write(folder.resolve("plain"), bytes);
        try (FileSystem archive = FileSystems.newFileSystem(folder.resolve("a.zip"), Map.of("create", "true"));
                Arena arena = Arena.ofConfined()) {
            Path packed = Files.write(archive.getPath("/packed"), bytes);
            for (Path file : new Path[] {plain, packed}) {
                MemorySegment memory = FileMemory.of(file, arena);
                assertEquals(file == plain, memory.isMapped());
                assertTrue(memory.isReadOnly() && memory.isNative());
                assertArrayEquals(bytes, memory.toArray(ValueLayout.JAVA_BYTE));
            }
        }
    }

    @Test
    void whatIsNoFileIsNamed() throws IOException {
        try (FileSystem archive = FileSystems.newFileSystem(folder.resolve("a.zip"), Map.of("create", "true"));
                Arena arena = Arena.ofConfined()) {
            Path inner = Files.createDirectory(archive.getPath("/inner"));
            for (Path path : new Path[] {folder, inner}) {
                IllegalArgumentException wrong =
                        assertThrows(IllegalArgumentException.class, () -> FileMemory.of(path, arena));
                assertEquals(path + ": a folder; expected a file", wrong.getMessage());
                assertThrows(NoSuchFileException.class, () -> FileMemory.of(path.resolve("none"), arena));
            }
        }
    }

    /** An archive may claim any size: memory is allocated for the existing data, not for the claimed size. */
    @ParameterizedTest
    @ValueSource(longs = {101, 20 << 20, 1L << 50, Long.MAX_VALUE})
    void memoryIsNotTakenForClaims(long size) throws IOException {
        try (CountingArena arena = new CountingArena()) {
            ByteArrayInputStream in = new ByteArrayInputStream(new byte[100]);
            EOFException ended =
                    assertThrows(EOFException.class, () -> FileMemory.read(in, size, MemorySegment.NULL, arena));
            assertEquals("100 bytes; expected the " + size + " that the file system reports", ended.getMessage());
            assertEquals(size == 101 ? 101 : 0, arena.bytes);
        }
    }

    @Test
    void aFileThatIsLongerThanItsSizeIsNamed() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            ByteArrayInputStream in = new ByteArrayInputStream(new byte[100]);
            IOException longer =
                    assertThrows(IOException.class, () -> FileMemory.read(in, 99, MemorySegment.NULL, arena));
            assertEquals("more than the 99 bytes that the file system reports", longer.getMessage());
        }
    }
}
