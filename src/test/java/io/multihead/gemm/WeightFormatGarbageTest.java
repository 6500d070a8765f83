package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import io.multihead.compute.Compute;
import io.multihead.support.Blocks;
import io.multihead.support.ChildJvm;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * In a JVM that makes no other calls, warm products with weights of every format allocate nothing, and first products
 * allocate little. C2's inlining depends on the code that the JVM has run when it compiles a method, and a call that is
 * not inlined allocates an object per vector until the JVM ends. Therefore, as in the other tests that start JVMs, a
 * run that allocates is repeated once, and the second run decides.
 */
@Execution(ExecutionMode.CONCURRENT)
class WeightFormatGarbageTest {
    private static final int SIZE = 2048;
    /** The elements of a block in the largest format. C2 compiles the same methods as for larger numbers. */
    private static final int FEATURES = 256;

    /**
     * Prints the bytes of 50 warm calls of products of one row and of twenty rows with each format, and with 4-bit
     * formats and rounded rows.
     */
    public static void main(String[] arguments) {
        try (Arena arena = Arena.ofShared();
                Compute serial = Compute.serial();
                Compute threads = Compute.threads(2)) {
            Tensor wide = Tensor.allocate(arena, DType.F32, Shape.of(FEATURES, FEATURES));
            Tensor rows = Tensor.allocate(arena, DType.F32, Shape.of(20, FEATURES));
            Tensor products = Tensor.allocate(arena, DType.F32, Shape.of(20, FEATURES));
            Tensor row = rows.slice(0, 0, 1);
            Tensor product = products.slice(0, 0, 1);
            for (WeightFormat format : WeightFormat.values()) {
                PackedWeights weights = format.name().startsWith("Q")
                        ? PackedWeights.ofOutputRows(
                                arena,
                                Blocks.random(BlockType.valueOf(format.name()), FEATURES, FEATURES, new Random(1)))
                        : PackedWeights.ofInputRows(arena, wide, format);
                List<PackedWeights> kinds = format.allowsEightBitInputs()
                        ? List.of(weights, weights.withEightBitInputs())
                        : List.of(weights);
                for (PackedWeights kind : kinds) {
                    long one = WarmCalls.allocatedBytes(
                            () -> Gemm.multiply(threads, row, kind, product, GemmOptions.DEFAULT));
                    long many = WarmCalls.allocatedBytes(
                            () -> Gemm.multiply(serial, rows, kind, products, GemmOptions.DEFAULT));
                    System.out.println(format + " " + one + " " + many);
                }
            }
        }
    }

    /** Prints the bytes that the first products of one row by each format allocate. */
    static final class FirstCalls {
        public static void main(String[] arguments) {
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            try (Arena arena = Arena.ofShared();
                    Compute serial = Compute.serial()) {
                Tensor zeros = Tensor.allocate(arena, DType.F32, Shape.of(SIZE, SIZE));
                Tensor row = Tensor.allocate(arena, DType.F32, Shape.of(1, SIZE));
                Tensor product = Tensor.allocate(arena, DType.F32, Shape.of(1, SIZE));
                for (WeightFormat format : WeightFormat.values()) {
                    PackedWeights weights = PackedWeights.ofInputRows(arena, zeros, format);
                    long before = threads.getCurrentThreadAllocatedBytes();
                    Gemm.multiply(serial, row, weights, product, GemmOptions.DEFAULT);
                    System.out.println(format + " " + (threads.getCurrentThreadAllocatedBytes() - before));
                }
            }
        }
    }

    /**
     * A first product does not allocate an object for each vector. That would be two or more objects of at least 32
     * bytes for each vector of weights: 16 MiB with 16 lanes. The limit includes the bytes of trials, at most 200
     * trials per second of 50 KB each.
     */
    @Test
    void firstProductsMakeNoObjectForEachVector() throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(FirstCalls.class, List.of()).stream()
                .filter(line -> line.matches("[A-Z0-9_]+ \\d+"))
                .toList();
        assertEquals(WeightFormat.values().length, lines.size(), lines.toString());
        List<String> many = lines.stream()
                .filter(line -> Long.parseLong(line.substring(line.indexOf(' ') + 1)) > (long) SIZE * SIZE / 16 * 64)
                .toList();
        assertEquals(List.of(), many);
    }

    @Test
    void warmProductsAllocateNothing() throws IOException, InterruptedException {
        List<String> allocating = allocating();
        if (!allocating.isEmpty()) {
            System.out.println("FINDING: warm products allocate in one JVM: " + allocating);
            allocating = allocating();
        }
        assertEquals(List.of(), allocating);
    }

    private static List<String> allocating() throws IOException, InterruptedException {
        List<String> formats = ChildJvm.run(WeightFormatGarbageTest.class, List.of(ChildJvm.FOREGROUND)).stream()
                .filter(line -> line.matches("[A-Z0-9_]+ \\d+ \\d+"))
                .toList();
        long rounding = Arrays.stream(WeightFormat.values())
                .filter(WeightFormat::allowsEightBitInputs)
                .count();
        assertEquals(WeightFormat.values().length + rounding, formats.size(), formats.toString());
        return formats.stream().filter(line -> !line.endsWith(" 0 0")).toList();
    }
}
