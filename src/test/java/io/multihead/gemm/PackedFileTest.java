package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Packed weights in files. */
class PackedFileTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"1, 1", "256, 32", "257, 33", "512, 32", "513, 33", "1100, 130", "0, 5", "5, 0"})
    void mappedWeightsHaveTheSameBits(int inputs, int outputs) throws IOException {
        Tensor matrix = random(inputs, outputs);
        Path file = folder.resolve("weights");
        PackedWeights packed = PackedWeights.ofInputRows(matrix);
        packed.write(file);
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.threads(2)) {
            PackedWeights mapped = PackedWeights.map(arena, file);
            assertEquals(inputs, mapped.inputs());
            assertEquals(outputs, mapped.outputs());
            for (int rows : new int[] {1, 3, 9}) {
                Tensor a = random(rows, inputs);
                Tensor expected = random(rows, outputs);
                Tensor actual = random(rows, outputs);
                Gemm.multiply(cpu, a, packed, expected, GemmOptions.DEFAULT);
                Gemm.multiply(cpu, a, mapped, actual, GemmOptions.DEFAULT);
                assertArrayEquals(expected.toArray(), actual.toArray());
            }
        }
    }

    /** The caller's panels begin at an offset, as in a part of a mapped file. */
    @ParameterizedTest
    @CsvSource({"1, 1", "513, 33", "1100, 130", "0, 5", "5, 0"})
    void panelsInMemoryOfTheCallersHaveTheSameBits(int inputs, int outputs) {
        PackedWeights packed = PackedWeights.ofInputRows(random(inputs, outputs));
        long elements = PackedWeights.panelElements(WeightFormat.F32, inputs, outputs);
        assertEquals(elements, packed.panels().shape().elements());
        assertTrue(packed.panels().memory().isReadOnly());
        Tensor a = random(2, inputs);
        Tensor expected = random(2, outputs);
        Tensor actual = random(2, outputs);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(4 * elements + 64, 64);
            Tensor panels = Tensor.view(memory, DType.F32, Shape.of(elements), 16, 1);
            packed.panels().copyTo(panels);
            PackedWeights read = PackedWeights.ofPanels(panels, WeightFormat.F32, inputs, outputs);
            Gemm.multiply(Compute.serial(), a, packed, expected, GemmOptions.DEFAULT);
            Gemm.multiply(Compute.serial(), a, read, actual, GemmOptions.DEFAULT);
        }
        assertArrayEquals(expected.toArray(), actual.toArray());
    }

    @Test
    void otherMemoryThanPanelsIsRefused() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(4 * 65, 64);
            Shape two = Shape.of(64);
            assertPanelsRefused(
                    Tensor.view(memory, DType.F32, Shape.of(65)), 2, 5, "F32 [64] for 2 inputs and 5 outputs");
            assertPanelsRefused(
                    Tensor.view(memory, DType.BF16, two), 2, 5, "panels: BF16 [64]; expected dense F32 [64]");
            assertPanelsRefused(Tensor.view(memory, DType.F32, two, 1, 1), 2, 5, "aligned to 64 bytes");
            assertPanelsRefused(Tensor.of(new float[64]), 2, 5, "expected native memory aligned to 64 bytes");
            assertPanelsRefused(Tensor.view(memory, DType.F32, two), -2, 5, "inputs: -2; expected 0 to 1099511627263");
            assertPanelsRefused(Tensor.view(memory, DType.F32, two), 2, -5, "outputs: -5; expected 0 to 4194272");
            assertPanelsRefused(
                    Tensor.view(memory, DType.F32, two),
                    1099511627263L,
                    4194272,
                    "inputs: 1099511627263; expected at most 274880004112 with 4194272 outputs");
        }
    }

    private static void assertPanelsRefused(Tensor panels, long inputs, long outputs, String message) {
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> PackedWeights.ofPanels(panels, WeightFormat.F32, inputs, outputs));
        assertTrue(refused.getMessage().contains(message), refused.getMessage());
    }

    /** Files are written in pieces of 1 MiB. These panels take a little more than 16 pieces. */
    @Test
    void panelsLargerThanAPieceAreWritten() throws IOException {
        int outputs = 16_500;
        Tensor matrix = random(256, outputs);
        Path file = folder.resolve("large");
        PackedWeights packed = PackedWeights.ofInputRows(matrix);
        packed.write(file);
        Tensor a = random(1, 256);
        Tensor expected = random(1, outputs);
        Tensor actual = random(1, outputs);
        try (Arena arena = Arena.ofConfined()) {
            Gemm.multiply(Compute.serial(), a, packed, expected, GemmOptions.DEFAULT);
            Gemm.multiply(Compute.serial(), a, PackedWeights.map(arena, file), actual, GemmOptions.DEFAULT);
        }
        assertArrayEquals(expected.toArray(), actual.toArray());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "24 | 1099511627264 | inputs: 1099511627264; expected 0 to 1099511627263",
                "24 | 1099511627263 | file: 36864 bytes; expected",
                "32 | 4194273 | outputs: 4194273; expected 0 to 4194272",
                "32 | 4194272 | file: 36864 bytes; expected"
            })
    void sizesEndWherePanelsCanNoLongerBeAddressed(int at, long number, String message) throws IOException {
        Path file = folder.resolve("weights");
        PackedWeights.ofInputRows(random(256, 32)).write(file);
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(at, number);
        Files.write(file, bytes);
        assertRefused(file, message);
    }

    /** Each size is allowed, but a long cannot hold the number of bytes of both. */
    @Test
    void sizesWhosePanelsNoLongCountsAreRefused() throws IOException {
        Path file = folder.resolve("weights");
        PackedWeights.ofInputRows(random(256, 32)).write(file);
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        Files.write(
                file, header.putLong(24, 1099511627263L).putLong(32, 4194272).array());
        assertRefused(file, "inputs: 1099511627263; expected at most 274880004112 with 4194272 outputs");
    }

    @Test
    void aPathWithoutAFileNameIsRefused() {
        PackedWeights weights = PackedWeights.ofInputRows(random(1, 1));
        for (Path path : new Path[] {Path.of(""), folder.getRoot()}) {
            IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> weights.write(path));
            assertEquals("file: \"" + path + "\"; expected a path that ends in a file name", refused.getMessage());
        }
    }

    /** The matrix repeats one element, since no memory could hold so large a matrix. */
    @Test
    void matricesOfMoreBytesThanALongHoldsAreRefused() {
        Tensor huge = Tensor.of(new float[1]).broadcast(1099511627263L, 4194272);
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> PackedWeights.ofInputRows(huge));
        assertEquals("inputs: 1099511627263; expected at most 274880004112 with 4194272 outputs", refused.getMessage());
    }

    @Test
    void matricesWithRowsThatNoArrayHoldsAreRefused() {
        assertEquals(
                4_194_272,
                PackedWeights.ofInputRows(Tensor.of(new float[0], 0, 4_194_272)).outputs());
        // 512 times each of the last two overflows to a small number
        for (long columns : new long[] {4_194_273, 1L << 54, 1L << 56, (1L << 56) - 31}) {
            Tensor wide = Tensor.of(new float[1]).broadcast(1, columns);
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> PackedWeights.ofInputRows(wide));
            assertEquals("matrix: " + columns + " outputs; expected at most 4194272", refused.getMessage());
        }
    }

    /** Writing replaces the file and leaves the mapped file unchanged. */
    @Test
    void writingReplacesTheFile() throws IOException {
        Path file = folder.resolve("weights");
        PackedWeights.ofInputRows(random(40, 40)).write(file);
        try (Arena arena = Arena.ofShared()) {
            PackedWeights first = PackedWeights.map(arena, file);
            Tensor a = random(2, 40);
            Tensor before = random(2, 40);
            Tensor after = random(2, 40);
            Gemm.multiply(Compute.serial(), a, first, before, GemmOptions.DEFAULT);
            PackedWeights.ofInputRows(Tensor.of(new float[1600], 40, 40)).write(file);
            Gemm.multiply(Compute.serial(), a, first, after, GemmOptions.DEFAULT);
            assertArrayEquals(before.toArray(), after.toArray());
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.count(), "no temporary file stays");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, 5, magic",
        "8, 3, version",
        "12, -1, format",
        "12, 100, format",
        "12, 2, file",
        "16, 64, panel columns",
        "20, 256, block rows",
        "24, 41, file",
        "28, 2147483647, inputs",
        "28, -1, inputs",
        "32, 33, file",
        "32, 2000000000, outputs",
        "36, -1, outputs"
    })
    void anotherLayoutIsRefusedByField(int at, int number, String field) throws IOException {
        Path file = folder.resolve("weights");
        PackedWeights.ofInputRows(random(40, 32)).write(file);
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(at, number);
        Files.write(file, bytes);
        assertRefused(file, field + ": ");
    }

    /** A file of version 1 holds f32 panels only. The library wrote it before it had formats. */
    @Test
    void aFileOfTheFirstVersionIsRead() throws IOException, URISyntaxException {
        Path file = Path.of(
                PackedFileTest.class.getResource("/packed/version1.panels").toURI());
        float[] numbers = new float[7 * 35];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (i - 100) / 8f;
        }
        Tensor a = random(3, 7);
        Tensor expected = random(3, 35);
        Tensor actual = random(3, 35);
        try (Arena arena = Arena.ofConfined()) {
            PackedWeights mapped = PackedWeights.map(arena, file);
            assertEquals(WeightFormat.F32, mapped.format());
            Gemm.multiply(Compute.serial(), a, Tensor.of(numbers, 7, 35), expected, GemmOptions.DEFAULT);
            Gemm.multiply(Compute.serial(), a, mapped, actual, GemmOptions.DEFAULT);
        }
        assertArrayEquals(expected.toArray(), actual.toArray());
        byte[] wider = Files.readAllBytes(file);
        wider[12] = 2;
        Path changed = folder.resolve("changed");
        Files.write(changed, wider);
        assertRefused(changed, "element bytes: 2; expected 4");
    }

    /** The changed bytes belong to no field. */
    @ParameterizedTest
    @CsvSource({"40, 1", "41, 255", "2047, 32", "4095, 128"})
    void aHeaderWithMoreThanItsFieldsIsRefused(int at, int value) throws IOException {
        Path file = folder.resolve("weights");
        PackedWeights.ofInputRows(random(40, 32)).write(file);
        byte[] bytes = Files.readAllBytes(file);
        bytes[at] = (byte) value;
        Files.write(file, bytes);
        assertRefused(file, "header: byte " + at + " is " + value + "; expected zeros from byte 40 on");
    }

    @ParameterizedTest
    @CsvSource({"0", "4095", "4096", "5000"})
    void aShorterFileIsRefused(int length) throws IOException {
        Path file = folder.resolve("weights");
        PackedWeights.ofInputRows(random(40, 32)).write(file);
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), length));
        assertRefused(file, "file: ");
    }

    /** The file is only a header. An array with an element for each 512 rows would exceed the JVM's limit. */
    @Test
    void rowsWithoutColumnsTakeNoMemory() throws IOException {
        long inputs = Integer.MAX_VALUE * 512L - 1;
        Path file = folder.resolve("weights");
        PackedWeights.ofInputRows(random(5, 0)).write(file);
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(24, inputs);
        Files.write(file, bytes);
        try (Arena arena = Arena.ofConfined()) {
            PackedWeights mapped = PackedWeights.map(arena, file);
            assertEquals(inputs, mapped.inputs());
            assertEquals(0, mapped.outputs());
        }
    }

    /** Weights of a closed or confined arena are refused before anything is written. */
    @Test
    void memoryThatCannotServeIsRefused() {
        Tensor a = random(2, 3);
        Tensor c = random(2, 4);
        float[] before = c.toArray();
        Arena closed = Arena.ofShared();
        PackedWeights gone = PackedWeights.ofInputRows(closed, random(3, 4));
        closed.close();
        assertThrows(
                IllegalStateException.class, () -> Gemm.multiply(Compute.serial(), a, gone, c, GemmOptions.DEFAULT));
        try (Arena confined = Arena.ofConfined();
                Compute cpu = Compute.threads(2)) {
            PackedWeights own = PackedWeights.ofInputRows(confined, random(3, 4));
            IllegalArgumentException refused = assertThrows(
                    IllegalArgumentException.class, () -> Gemm.multiply(cpu, a, own, c, GemmOptions.DEFAULT));
            assertTrue(refused.getMessage().startsWith("b: "), refused.getMessage());
        }
        assertArrayEquals(before, c.toArray());
    }

    /** The message must name the folder, unlike the message of the operating system. */
    @Test
    void aFolderIsRefused() {
        assertRefused(folder, "a folder; expected a file");
    }

    private static void assertRefused(Path file, String message) {
        try (Arena arena = Arena.ofConfined()) {
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> PackedWeights.map(arena, file));
            assertTrue(refused.getMessage().startsWith(file + ": " + message), refused.getMessage());
        }
    }

    private static Tensor random(int rows, int columns) {
        return TestTensors.random(new Random(rows * 1000L + columns), rows, columns);
    }
}
