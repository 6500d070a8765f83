package io.multihead.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Writing is atomic, and the file contains the written values. */
class SafetensorsWriteTest {
    @TempDir
    Path folder;

    @Test
    void everyElementTypeRoundTrips() throws IOException {
        Path path = folder.resolve("all");
        try (Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            for (DType dtype : DType.values()) {
                Tensor dense = Tensor.allocate(arena, dtype, Shape.of(2, 3));
                dense.set(-5, 0, 1);
                dense.set(7, 1, 2);
                tensors.put(dtype.name(), dense);
                tensors.put(dtype + " transposed", dense.permute(1, 0));
                tensors.put(dtype + " part", dense.slice(0, 1, 2));
                tensors.put(dtype + " empty", Tensor.allocate(arena, dtype, Shape.of(3, 0, 2)));
                tensors.put(dtype + " scalar", dense.select(0, 1).select(0, 2));
            }
            Safetensors.write(path, tensors, Map.of());
            Safetensors file = Safetensors.map(arena, path);
            assertEquals(List.copyOf(tensors.keySet()), List.copyOf(file.names()));
            tensors.forEach((name, tensor) -> {
                Tensor read = file.get(name);
                assertEquals(tensor.dtype(), read.dtype(), name);
                assertEquals(tensor.shape(), read.shape(), name);
                assertArrayEquals(tensor.toArray(), read.toArray(), name);
            });
            assertEquals(7, file.get("F64 scalar").get());
        }
    }

    @Test
    void tensorsOfJavaArraysAreWritten() throws IOException {
        Path path = folder.resolve("arrays");
        float[] values = {1, 2, 3, 4, 5, 6};
        byte[] bytes = {1, -2};
        Tensor half = Tensor.view(MemorySegment.ofArray(new short[] {0x3c00}), DType.F16, Shape.of(1));
        Tensor small = Tensor.view(MemorySegment.ofArray(bytes), DType.I8, Shape.of(2));
        Tensor rows = Tensor.of(values, 3, 2);
        Safetensors.write(path, Map.of("f", rows, "h", half, "b", small, "r", rows.slice(0, 1, 3)), Map.of());
        try (Arena arena = Arena.ofConfined()) {
            Safetensors file = Safetensors.map(arena, path);
            assertArrayEquals(values, file.get("f").toArray());
            assertArrayEquals(new float[] {1}, file.get("h").toArray());
            assertArrayEquals(new float[] {1, -2}, file.get("b").toArray());
            assertArrayEquals(new float[] {3, 4, 5, 6}, file.get("r").toArray());
        }
    }

    @Test
    void tensorsEndWithTheArenaAndCannotBeWritten() throws IOException {
        Path path = folder.resolve("old");
        writeOld(path);
        Tensor tensor;
        try (Arena arena = Arena.ofConfined()) {
            tensor = Safetensors.map(arena, path).get("old");
            assertEquals(2, tensor.get(1));
            Tensor mapped = tensor;
            assertThrows(RuntimeException.class, () -> mapped.set(3, 1));
        }
        assertThrows(IllegalStateException.class, () -> tensor.get(1));
        Arena closed = Arena.ofConfined();
        closed.close();
        assertThrows(IllegalStateException.class, () -> Safetensors.map(closed, path));
    }

    @Test
    void aFailedWriteLeavesTheOldFileAndNothingElse() throws IOException {
        Path path = folder.resolve("old");
        writeOld(path);
        byte[] before = Files.readAllBytes(path);
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Arena gone = Arena.ofConfined();
        tensors.put("whole", Tensor.of(new float[1000]));
        tensors.put("gone", Tensor.allocate(gone, DType.F32, Shape.of(1000)));
        gone.close();
        assertThrows(IllegalStateException.class, () -> Safetensors.write(path, tensors, Map.of()));
        assertArrayEquals(before, Files.readAllBytes(path));
        assertOnly(path);
        assertThrows(IllegalStateException.class, () -> Safetensors.write(folder.resolve("new"), tensors, Map.of()));
        assertOnly(path);
        assertThrows(IOException.class, () -> Safetensors.write(folder.resolve("no/such/folder"), Map.of(), Map.of()));
    }

    @Test
    void aFolderThatDoesNotExistIsNamedByTheFile() {
        Path path = folder.resolve("none").resolve("weights.safetensors");
        NoSuchFileException missing = assertThrows(
                NoSuchFileException.class,
                () -> Safetensors.write(path, Map.of("a", Tensor.of(new float[4])), Map.of()));
        assertEquals(path.toString(), missing.getFile());
        assertTrue(missing.getMessage().contains("its folder does not exist"), missing.getMessage());
    }

    @Test
    void aFileMayReplaceItself() throws IOException {
        Path path = folder.resolve("old");
        writeOld(path);
        try (Arena arena = Arena.ofConfined()) {
            Tensor old = Safetensors.map(arena, path).get("old");
            Safetensors.write(path, Map.of("new", old), Map.of());
            assertArrayEquals(
                    new float[] {1, 2}, Safetensors.map(arena, path).get("new").toArray());
            assertEquals(2, old.get(1));
        }
        assertOnly(path);
    }

    @Test
    void aWrittenFileHasTheUsualPermissions() throws IOException {
        if (!Files.getFileStore(folder).supportsFileAttributeView("posix")) {
            return;
        }
        Path usual = folder.resolve("usual");
        Files.write(usual, new byte[1]);
        Path path = folder.resolve("old");
        writeOld(path);
        Set<PosixFilePermission> expected = Files.getPosixFilePermissions(usual);
        assertEquals(expected, Files.getPosixFilePermissions(path));
    }

    @Test
    void textOfAnyKindRoundTrips() throws IOException {
        StringBuilder all = new StringBuilder("\"\\/\u007f\u0080\u2028\ufeff\uffff\ud83d\ude00");
        for (char c = 0; c < ' '; c++) {
            all.append(c);
        }
        Path path = folder.resolve("text");
        Map<String, String> metadata = Map.of("", "", all.toString(), all.toString(), "json", "{\"a\":[1]}");
        Safetensors.write(path, Map.of(all.toString(), Tensor.of(new float[1])), metadata);
        try (Arena arena = Arena.ofConfined()) {
            Safetensors file = Safetensors.map(arena, path);
            assertEquals(metadata, file.metadata());
            assertTrue(file.contains(all.toString()));
        }
    }

    @Test
    void whatCouldNotBeReadBackIsNotWritten() throws IOException {
        Path path = folder.resolve("never");
        Tensor one = Tensor.of(new float[1]);
        for (String name : List.of("__metadata__", "\ud800", "a\udc00b", "\udc00\ud800")) {
            String message = assertThrows(
                            IllegalArgumentException.class, () -> Safetensors.write(path, Map.of(name, one), Map.of()))
                    .getMessage();
            assertTrue(message.startsWith("tensor \""), message);
        }
        for (Map<String, String> text : List.of(Map.of("k", "\ud800"), Map.of("\ud800", "v"))) {
            String message = assertThrows(IllegalArgumentException.class, () -> Safetensors.write(path, Map.of(), text))
                    .getMessage();
            assertTrue(message.startsWith("metadata \""), message);
        }
        assertFalse(Files.exists(path));
    }

    @Test
    void aHeaderThatIsTooLongToBeReadIsNotWritten() {
        SafetensorsWriter.requireReadable(100_000_000);
        assertEquals(
                "header: 100000001 bytes; expected at most 100000000",
                assertThrows(IllegalArgumentException.class, () -> SafetensorsWriter.requireReadable(100_000_001))
                        .getMessage());
    }

    @Test
    void aNameMayBeAsLongAsTheFolderAllows() throws IOException {
        Path path = folder.resolve("n".repeat(255));
        writeOld(path);
        assertOnly(path);
    }

    @Test
    void aPathWithoutAFileNameIsRefused() {
        for (Path path : List.of(folder.getRoot(), Path.of(""))) {
            String message = assertThrows(
                            IllegalArgumentException.class, () -> Safetensors.write(path, Map.of(), Map.of()))
                    .getMessage();
            assertEquals("file: \"" + path + "\"; expected a path that ends in a file name", message);
        }
    }

    @Test
    void theDataStartsAligned() throws IOException {
        Path path = folder.resolve("aligned");
        for (int length = 0; length < 9; length++) {
            Safetensors.write(path, Map.of("x".repeat(length), Tensor.of(new float[1])), Map.of());
            assertEquals(4, Files.size(path) % 8);
        }
    }

    /** Data is written in chunks of 16 MiB. */
    @Test
    void tensorsLargerThanAPieceAreWritten() throws IOException {
        int count = (1 << 22) + 3;
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = i;
        }
        Path path = folder.resolve("large");
        Safetensors.write(path, Map.of("w", Tensor.of(values)), Map.of());
        try (Arena arena = Arena.ofConfined()) {
            assertArrayEquals(values, Safetensors.map(arena, path).get("w").toArray());
        }
    }

    @Test
    void aTensorIsTheOneThatWasAnnounced() throws IOException {
        Path path = folder.resolve("lazy");
        Tensor made = Tensor.of(new float[6], 2, 3);
        Safetensors.writeLazy(path, Map.of("t", new LazyTensor(DType.F32, made.shape(), arena -> made)), Map.of());
        for (LazyTensor other : List.of(
                new LazyTensor(DType.F32, Shape.of(3, 2), arena -> made),
                new LazyTensor(DType.F64, Shape.of(2, 3), arena -> made))) {
            assertEquals(
                    "tensor \"t\": F32 [2, 3]; expected " + other.dtype() + " " + other.shape() + ", as announced",
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> Safetensors.writeLazy(path, Map.of("t", other), Map.of()))
                            .getMessage());
        }
        assertOnly(path);
    }

    @Test
    void allTensorsHaveFewerThan2To63Bytes() {
        Path path = folder.resolve("huge");
        IllegalStateException made = new IllegalStateException("made");
        LazyTensor most = new LazyTensor(DType.I8, Shape.of(Long.MAX_VALUE), arena -> {
            throw made;
        });
        assertEquals(
                made,
                assertThrows(
                        IllegalStateException.class, () -> Safetensors.writeLazy(path, Map.of("a", most), Map.of())));
        Map<String, LazyTensor> two = new LinkedHashMap<>();
        two.put("a", most);
        two.put("b", new LazyTensor(DType.I8, Shape.of(1), arena -> {
            throw made;
        }));
        assertEquals(
                "tensor \"b\": I8 [1]; expected fewer than 2^63 bytes in all",
                assertThrows(IllegalArgumentException.class, () -> Safetensors.writeLazy(path, two, Map.of()))
                        .getMessage());
    }

    private static void writeOld(Path path) throws IOException {
        Safetensors.write(path, Map.of("old", Tensor.of(new float[] {1, 2})), Map.of("k", "v"));
    }

    private void assertOnly(Path path) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(List.of(path), files.toList());
        }
    }
}
