package io.multihead.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.support.OnnxMessage;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Names and layout of the weights of ONNX files, and messages for invalid files. */
class OnnxWeightsTest {
    private static final float[] SIX = {1, 2, 3, 4, 5, 6};

    private static OnnxMessage graph() {
        return new OnnxMessage()
                .message(1, OnnxFile.constant("two", 2f))
                .message(1, OnnxFile.node("/a/dense/MatMul", "MatMul", "y", "x", "onnx::MatMul_1"))
                .message(1, OnnxFile.node("/a/Div", "Div", "z", "y", "two"))
                .text(2, "graph")
                .message(5, OnnxFile.tensor("a.dense.bias", new float[] {7, 8, 9}, 3))
                .message(5, OnnxFile.tensor("onnx::MatMul_1", SIX, 2, 3))
                .message(
                        5,
                        new OnnxMessage()
                                .number(1, 1)
                                .number(2, 7)
                                .text(8, "ids")
                                .raw(9, new byte[8]))
                .message(11, new OnnxMessage().text(1, "x"));
    }

    @Test
    void weightsHaveTheNamesOfTheirModules() throws IOException {
        OnnxWeights weights = read(OnnxFile.model(graph()));
        assertEquals(List.of("a.dense.bias", "a.dense.weight"), List.copyOf(weights.names()));
        assertArrayEquals(new float[] {7, 8, 9}, weights.get("a.dense.bias").toArray());
        assertEquals(Shape.of(3, 2), weights.get("a.dense.weight").shape());
        assertArrayEquals(
                new float[] {1, 4, 2, 5, 3, 6}, weights.get("a.dense.weight").toArray());
        assertEquals(Set.of("Constant", "Div", "MatMul"), weights.operations());
        assertEquals(OptionalDouble.of(2), weights.constant("/a/Div"));
        assertEquals(OptionalDouble.empty(), weights.constant("/a/dense/MatMul"));
        assertEquals(OptionalDouble.empty(), weights.constant("/a/Mul"));
    }

    /** The message for a weight in f16 names its type, 10. The message for a missing name is different. */
    @Test
    void weightsOfOtherTypesAreNamed() throws IOException {
        OnnxMessage half = new OnnxMessage().number(1, 2).number(2, 10);
        OnnxWeights weights = read(OnnxFile.model(new OnnxMessage()
                .message(1, OnnxFile.node("/a/dense/MatMul", "MatMul", "y", "x", "onnx::MatMul_1"))
                .message(5, half.text(8, "onnx::MatMul_1").raw(9, new byte[4]))
                .message(
                        5,
                        new OnnxMessage()
                                .number(1, 1)
                                .number(2, 10)
                                .text(8, "b")
                                .raw(9, new byte[2]))));
        assertEquals(Set.of(), weights.names());
        for (String name : List.of("a.dense.weight", "b")) {
            assertEquals(
                    "tensor \"" + name + "\": ONNX's element type 10; expected 1, which is f32",
                    assertThrows(IllegalArgumentException.class, () -> weights.get(name))
                            .getMessage());
        }
        assertEquals(
                "tensor \"onnx::MatMul_1\": not in the file; expected one of []",
                assertThrows(IllegalArgumentException.class, () -> weights.get("onnx::MatMul_1"))
                        .getMessage());
    }

    /** A product of the outermost module has no module name, so its weight keeps the name in the file. */
    @Test
    void aProductOfTheOutermostModuleKeepsTheNameOfItsWeight() throws IOException {
        OnnxWeights weights = read(OnnxFile.model(new OnnxMessage()
                .message(1, OnnxFile.node("/MatMul", "MatMul", "y", "x", "projection"))
                .message(5, OnnxFile.tensor("projection", SIX, 2, 3))));
        assertEquals(List.of("projection"), List.copyOf(weights.names()));
        assertArrayEquals(SIX, weights.get("projection").toArray());
    }

    /** The elements may be a repeated field, and the stream may deliver the file in chunks of any size. */
    @Test
    void elementsMayBePackedAndArriveSlowly() throws IOException {
        float[] values = new float[50_000];
        for (int i = 0; i < values.length; i++) {
            values[i] = i;
        }
        OnnxMessage tensor = new OnnxMessage()
                .raw(1, new byte[] {(byte) 0xd0, (byte) 0x86, 3})
                .number(2, 1)
                .raw(4, OnnxMessage.little(values))
                .text(8, "w");
        byte[] file = OnnxFile.model(new OnnxMessage().message(5, tensor));
        SplittableRandom random = new SplittableRandom(1);
        OnnxWeights weights = OnnxWeights.read(new ByteArrayInputStream(file) {
            @Override
            public synchronized int read(byte[] to, int at, int length) {
                return super.read(to, at, Math.min(length, 1 + random.nextInt(1000)));
            }

            @Override
            public synchronized int available() {
                return 0;
            }
        });
        assertArrayEquals(values, weights.get("w").toArray());
    }

    /** Each matrix is in a separate arena, so that it can be freed before the next one is used. */
    @Test
    void matricesAreInArenasThatTheCallerCloses() throws IOException {
        List<Arena> arenas = new ArrayList<>();
        OnnxWeights weights = OnnxWeights.read(new ByteArrayInputStream(OnnxFile.model(graph())), () -> {
            arenas.add(Arena.ofConfined());
            return arenas.getLast();
        });
        assertEquals(1, arenas.size());
        Tensor matrix = weights.get("a.dense.weight");
        assertEquals(arenas.getFirst().scope(), matrix.memory().scope());
        assertArrayEquals(new float[] {1, 4, 2, 5, 3, 6}, matrix.toArray());
        assertFalse(weights.get("a.dense.bias").memory().isNative());
        assertArrayEquals(new float[] {7, 8, 9}, weights.get("a.dense.bias").toArray());
        arenas.getFirst().close();
        assertThrows(IllegalStateException.class, matrix::toArray);
    }

    /** If the stream does not report available bytes, matrices are arrays, because a wrong length must not allocate native memory. */
    @Test
    void matricesAreArraysWhereTheStreamDoesNotSayThatTheyAreThere() throws IOException {
        InputStream silent = new FilterInputStream(new ByteArrayInputStream(OnnxFile.model(graph()))) {
            @Override
            public int read(byte[] to, int at, int length) throws IOException {
                return super.read(to, at, Math.min(length, 1));
            }

            @Override
            public int available() {
                return 0;
            }
        };
        OnnxWeights weights = OnnxWeights.read(silent, () -> {
            throw new AssertionError("asked for an arena");
        });
        assertFalse(weights.get("a.dense.weight").memory().isNative());
        assertArrayEquals(
                new float[] {1, 4, 2, 5, 3, 6}, weights.get("a.dense.weight").toArray());
    }

    record Bad(byte[] file, String message) {}

    static Stream<Bad> badFiles() {
        OnnxMessage two = OnnxFile.tensor("w", SIX, 2, 3);
        OnnxMessage shared = graph().message(1, OnnxFile.node("/b/MatMul", "MatMul", "v", "x", "onnx::MatMul_1"));
        return Stream.of(
                new Bad(new byte[0], "onnx: at byte 0: no graph; expected one"),
                new Bad(new OnnxMessage().number(1, 6).bytes(), "no graph; expected one"),
                new Bad(new byte[] {(byte) 0x80}, "ends too early; expected more bytes"),
                new Bad(new byte[] {0}, "field 0; expected 1 to 2^29 - 1"),
                new Bad(new byte[] {11}, "wire type 3; expected 0, 1, 2 or 5"),
                new Bad(new OnnxMessage().number(7, 1).bytes(), "wire type 0; expected 2"),
                new Bad(new OnnxMessage().length(7, 100).bytes(), "ends too early"),
                new Bad(new OnnxMessage().length(7, -1).bytes(), "a field of 18446744073709551615 bytes"),
                new Bad(
                        new OnnxMessage().raw(7, new byte[] {10, 5}).bytes(),
                        "a field of 5 bytes; expected a field within"),
                new Bad(new byte[] {8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1}, "an integer of more than 10 bytes"),
                new Bad(
                        graph(OnnxFile.tensor("w", SIX, 2, 2)),
                        "tensor \"w\": 6 elements; expected the elements of shape [2, 2]"),
                new Bad(graph(OnnxFile.tensor("w", SIX, -2, -3)), "tensor \"w\": shape [-2, -3]; expected"),
                new Bad(graph(OnnxFile.tensor("w", SIX, new long[17])), "more than 16 integers"),
                new Bad(graph(new OnnxMessage().number(2, 1).raw(9, new byte[5])), "5 bytes of floats"),
                new Bad(graph(new OnnxMessage().number(14, 1)), "in another file; expected its data here"),
                new Bad(OnnxFile.model(new OnnxMessage().message(5, two).message(5, two)), "used twice"),
                new Bad(OnnxFile.model(new OnnxMessage().message(15, two)), "a sparse tensor; expected dense ones"),
                new Bad(OnnxFile.model(shared), "share a weight; expected one each"),
                new Bad(
                        OnnxFile.model(graph().message(5, OnnxFile.tensor("a.dense.weight", SIX, 3, 2))),
                        "two weights named"));
    }

    private static byte[] graph(OnnxMessage tensor) {
        return OnnxFile.model(new OnnxMessage().message(5, tensor));
    }

    @ParameterizedTest
    @MethodSource("badFiles")
    void aMalformedFileIsNamed(Bad bad) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, () -> read(bad.file));
        assertTrue(wrong.getMessage().contains(bad.message), wrong.getMessage());
    }

    /** A randomly changed file is read or refused. */
    @Test
    void changedFilesAreReadOrRefused() {
        byte[] file = OnnxFile.model(graph());
        SplittableRandom random = new SplittableRandom(2);
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] changed = Arrays.copyOf(file, random.nextInt(4) == 0 ? random.nextInt(file.length) : file.length);
            for (int changes = random.nextInt(1, 4); changes > 0 && changed.length > 0; changes--) {
                changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
            }
            try {
                read(changed);
            } catch (IllegalArgumentException wrong) {
                refused++;
            } catch (IOException unexpected) {
                throw new AssertionError(unexpected);
            }
        }
        assertTrue(refused > 1000, "refused only " + refused);
    }

    /** A length of 4 GiB in a file of a few bytes allocates little memory. */
    @Test
    void aLengthAllocatesNothing() {
        OnnxMessage tensor = new OnnxMessage().number(1, 1L << 30).number(2, 1).length(9, 1L << 32);
        byte[] start = tensor.bytes();
        byte[] head = new OnnxMessage()
                .length(7, (1L << 32) + 1000)
                .length(5, (1L << 32) + 500)
                .bytes();
        byte[] whole = Arrays.copyOf(head, head.length + start.length + 100);
        System.arraycopy(start, 0, whole, head.length, start.length);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, () -> read(whole));
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(wrong.getMessage().contains("ends too early"), wrong.getMessage());
        assertTrue(bytes < 1 << 20, bytes + " bytes");
    }

    @Test
    void errorsOfTheStreamAreItsOwn() {
        IOException broken = new IOException("broken");
        InputStream in = new InputStream() {
            @Override
            public int read() throws IOException {
                throw broken;
            }
        };
        assertEquals(broken, assertThrows(IOException.class, () -> OnnxWeights.read(in)));
    }

    private static OnnxWeights read(byte[] file) throws IOException {
        return OnnxWeights.read(new ByteArrayInputStream(file));
    }
}
