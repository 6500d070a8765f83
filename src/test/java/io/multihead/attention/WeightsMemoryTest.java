package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.nn.TensorMath;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Scratch for returned weights depends on the number of rows. */
class WeightsMemoryTest {
    @Test
    void oneRowReservesOneRow() {
        long keys = 1 << 20;
        try (Arena arena = Arena.ofConfined();
                Compute cpu = Compute.serial()) {
            Tensor query = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, 1, 1));
            Tensor key = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, keys, 1));
            Tensor weights = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, 1, keys));
            Tensor output = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, 1, 1));
            AttentionOutputs outputs = AttentionOutputs.of(output).withWeights(weights);
            Attention.forward(cpu, query, key, key, outputs, AttentionOptions.DEFAULT);
            assertEquals(1.0 / keys, weights.get(0, 0, 0, keys - 1));
            assertTrue(
                    cpu.heldBytes() < 3 * weights.shape().elements() * Float.BYTES,
                    cpu.heldBytes() + " bytes held: expected scores, and one block of keys and values");
        }
    }

    /** The mean over heads is summed in double. Each thread has a row of 8 bytes per key in addition to a row of 4 bytes per key. */
    @Test
    void sumsInDoubleAreCounted() {
        int keys = 100_000;
        Tensor parts = Tensor.of(new float[2 * keys], 2, 1, keys);
        Tensor mean = Tensor.of(new float[keys], 1, keys);
        try (Compute cpu = Compute.serial()) {
            TensorMath.meanOverFirstAxis(cpu, parts, mean);
            assertTrue(cpu.heldBytes() >= 12L * keys, cpu.heldBytes() + " bytes held");
        }
    }

    /**
     * The largest buffers of a fixed size that a thread has are one of 256 rows for forward, and two of 256 rows and three of 64 keys for
     * backward.
     */
    @Test
    void buffersOfFixedSizeAreCounted() {
        Tensor x = Tensor.of(new float[1], 1, 1, 1, 1);
        AttentionOutputs outputs = AttentionOutputs.of(Tensor.of(new float[1], 1, 1, 1, 1))
                .withLogSumExp(Tensor.of(new float[1], 1, 1, 1));
        Tensor gradient = Tensor.of(new float[1], 1, 1, 1, 1);
        try (Compute cpu = Compute.serial()) {
            Attention.forward(cpu, x, x, x, outputs, AttentionOptions.DEFAULT);
            long forward = 256L * Lanes.ROW * Float.BYTES;
            assertTrue(cpu.heldBytes() >= forward, cpu.heldBytes() + " bytes held");
            AttentionPass pass = new AttentionPass(x, x, x, outputs, AttentionOptions.DEFAULT);
            Attention.backward(cpu, pass, x, AttentionGradients.of(gradient, null, null));
            long backward = (2L * 256 + 3 * 64) * Lanes.ROW * Float.BYTES;
            assertTrue(cpu.heldBytes() >= forward + backward, cpu.heldBytes() + " bytes held");
        }
    }

    @Test
    void keysWhoseScoresDoNotFitAnArrayAreNamed(@TempDir Path folder) throws IOException {
        long keys = 12_000_000;
        Shape shape = Shape.of(1, 1, 192, keys);
        try (Arena arena = Arena.ofConfined();
                FileChannel sparse = FileChannel.open(
                        folder.resolve("weights"),
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.SPARSE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            Tensor query = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, 192, 1));
            Tensor key = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, keys, 1));
            Tensor output = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, 192, 1));
            output.memory().fill((byte) 7);
            byte[] before = output.memory().toArray(ValueLayout.JAVA_BYTE);
            Tensor weights = Tensor.view(
                    sparse.map(MapMode.READ_WRITE, 0, shape.elements() * DType.BF16.bytes(), arena), DType.BF16, shape);
            AttentionOutputs outputs = AttentionOutputs.of(output).withWeights(weights);
            String message = assertThrows(
                            IllegalArgumentException.class,
                            () -> Attention.forward(
                                    Compute.serial(), query, key, key, outputs, AttentionOptions.DEFAULT))
                    .getMessage();
            assertTrue(message.startsWith("weights: requested with 12000000 keys; expected"), message);
            assertArrayEquals(before, output.memory().toArray(ValueLayout.JAVA_BYTE));
        }
    }
}
