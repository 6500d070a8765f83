package io.multihead.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.support.OnnxMessage;
import io.multihead.tensor.Shape;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** The wire format of ONNX files: unknown fields, and numbers and lengths at the ends of their ranges. */
class OnnxWireTest {
    private static final int LAST_FIELD = (1 << 29) - 1;

    /** Adds a field of each wire type, with field numbers that no version of the format has. */
    private static OnnxMessage withUnknown(OnnxMessage message) {
        return message.number(100, -1)
                .fixed(101, 8)
                .raw(102, new byte[] {-1, -1, -1})
                .fixed(LAST_FIELD, 4);
    }

    @Test
    void unknownFieldsAreSkippedInEveryMessage() throws IOException {
        OnnxMessage tensor =
                withUnknown(new OnnxMessage().number(1, 1).number(2, 1)).text(8, "w");
        tensor.raw(9, OnnxMessage.little(new float[] {3}));
        OnnxMessage half = withUnknown(new OnnxMessage().number(2, 1)).raw(9, OnnxMessage.little(new float[] {0.5f}));
        OnnxMessage attribute = withUnknown(new OnnxMessage().text(1, "value")).message(5, half);
        OnnxMessage constant = withUnknown(new OnnxMessage().message(5, attribute))
                .text(4, "Constant")
                .text(2, "half")
                .text(3, "constant");
        OnnxMessage node =
                withUnknown(new OnnxMessage().text(1, "half")).text(3, "/Mul").text(4, "Mul");
        OnnxMessage graph = withUnknown(new OnnxMessage().message(5, tensor))
                .message(1, constant)
                .message(1, node);
        OnnxWeights weights =
                read(withUnknown(new OnnxMessage().message(7, graph)).bytes());
        assertEquals(List.of("w"), List.copyOf(weights.names()));
        assertArrayEquals(new float[] {3}, weights.get("w").toArray());
        assertEquals(Shape.of(1), weights.get("w").shape());
        assertEquals(OptionalDouble.of(0.5), weights.constant("/Mul"));
    }

    @Test
    void whatFollowsTheGraphIsReadToo() throws IOException {
        OnnxMessage first = new OnnxMessage().message(5, OnnxFile.tensor("a", new float[1], 1));
        OnnxMessage second = new OnnxMessage().message(5, OnnxFile.tensor("b", new float[1], 1));
        OnnxMessage model = new OnnxMessage().message(7, first).number(1, 6).message(7, second);
        assertEquals(List.of("a", "b"), List.copyOf(read(model.bytes()).names()));
        assertFails(
                "onnx: at byte 3: field 0; expected 1 to 2^29 - 1",
                new OnnxMessage()
                        .message(7, new OnnxMessage())
                        .raw(0, new byte[0])
                        .bytes());
    }

    @Test
    void constantsAreScalarsAndVectorsKeepTheirShape() throws IOException {
        OnnxMessage two = OnnxFile.node("c", "Constant", "two")
                .message(5, new OnnxMessage().message(5, OnnxFile.tensor("", new float[] {1, 2}, 2)));
        OnnxMessage graph = new OnnxMessage()
                .message(1, two)
                .message(1, OnnxFile.node("/Add", "Add", "y", "two"))
                .message(1, OnnxFile.node("/v/MatMul", "MatMul", "z", "x", "vector"))
                .message(5, OnnxFile.tensor("vector", new float[] {3, 4}, 2).number(14, 0));
        OnnxWeights weights = read(OnnxFile.model(graph));
        assertEquals(OptionalDouble.empty(), weights.constant("/Add"));
        assertArrayEquals(new float[] {3, 4}, weights.get("v.weight").toArray());
        assertEquals(Shape.of(2), weights.get("v.weight").shape());
    }

    @Test
    void fieldsBeyondTheLastAreNamed() {
        assertFails(
                "field 536870912; expected 1 to 2^29 - 1",
                new OnnxMessage().number(LAST_FIELD + 1, 0).bytes());
        // the low bits of the number are the bits of field 7
        byte[] wrapped = {(byte) 0xba, (byte) 0x80, (byte) 0x80, (byte) 0x80, (byte) 0x80, 1, 0};
        assertFails("expected 1 to 2^29 - 1", wrapped);
    }

    @Test
    void anIntegerOfAnotherWireTypeIsNamed() {
        OnnxMessage tensor = new OnnxMessage().raw(2, new byte[] {1});
        assertFails("wire type 2; expected 0", graph(tensor));
    }

    @Test
    void namesHaveUpTo65536Bytes() throws IOException {
        String longest = "n".repeat(1 << 16);
        OnnxWeights weights = read(graph(OnnxFile.tensor(longest, new float[1], 1)));
        assertEquals(List.of(longest), List.copyOf(weights.names()));
        assertFails(
                "a text of 65537 bytes; expected at most 65536",
                graph(OnnxFile.tensor(longest + "n", new float[1], 1)));
    }

    @Test
    void anIntegerEndsWithinItsMessage() {
        byte[] model =
                new OnnxMessage().raw(7, new byte[] {(byte) 0x80}).number(1, 6).bytes();
        assertFails("onnx: at byte 3: ends too early; expected more bytes", model);
    }

    /** The length of the graph claims to end near byte 2^63 - 1. It must not be accepted as the rest of the file. */
    @Test
    void lengthsToTheEndOfALongAreRefused() {
        byte[] graph = new OnnxMessage()
                .message(5, OnnxFile.tensor("a", new float[1], 1))
                .bytes();
        int start = 10; // a tag, and a length of 9 bytes
        for (long length : new long[] {Long.MAX_VALUE - start - 1, Long.MAX_VALUE - start, Long.MAX_VALUE, -1}) {
            byte[] head = new OnnxMessage().length(7, length).bytes();
            byte[] file = Arrays.copyOf(head, head.length + graph.length);
            System.arraycopy(graph, 0, file, head.length, graph.length);
            assertThrows(IllegalArgumentException.class, () -> read(file), "length " + length);
        }
    }

    /** A file claims the largest number of floats that an array can have, or one more, and ends after some bytes. */
    @Test
    void moreFloatsThanAnArrayHoldsAreRefused() {
        long most = Integer.MAX_VALUE - 8L;
        assertFails("ends too early", claiming(4 * most));
        assertFails((4 * most + 4) + " bytes of floats; expected a multiple of 4 below 2^33", claiming(4 * most + 4));
    }

    private static byte[] claiming(long bytes) {
        byte[] tensor = new OnnxMessage().number(2, 1).length(9, bytes).bytes();
        byte[] head = new OnnxMessage()
                .length(7, bytes + 1000)
                .length(5, bytes + tensor.length)
                .bytes();
        byte[] file = Arrays.copyOf(head, head.length + tensor.length + 100);
        System.arraycopy(tensor, 0, file, head.length, tensor.length);
        return file;
    }

    /** The first array has at most the number of bytes that the stream has available. */
    @Test
    void arraysBeginWithTheBytesThatAreAvailable() {
        int available = 1 << 20;
        ByteArrayInputStream in = new ByteArrayInputStream(claiming(1L << 32)) {
            @Override
            public synchronized int available() {
                return available;
            }
        };
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        assertThrows(IllegalArgumentException.class, () -> OnnxWeights.read(in));
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(bytes >= available && bytes < 2 * available, bytes + " bytes");
    }

    private static byte[] graph(OnnxMessage tensor) {
        return OnnxFile.model(new OnnxMessage().message(5, tensor));
    }

    private static void assertFails(String message, byte[] file) {
        String actual =
                assertThrows(IllegalArgumentException.class, () -> read(file)).getMessage();
        assertTrue(actual.contains(message), actual);
    }

    private static OnnxWeights read(byte[] file) throws IOException {
        return OnnxWeights.read(new ByteArrayInputStream(file));
    }
}
