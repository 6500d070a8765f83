package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.nn.Sequence;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Memory of a stack of blocks for a large batch, in addition to its weights. */
@Execution(ExecutionMode.CONCURRENT)
class BatchMemoryTest {
    private static final int BLOCKS = 2;
    private static final int CALLS = 3;
    private static final Path STATUS = Path.of("/proc/self/status");

    /**
     * The stack has 2 blocks of 384 features, 12 heads and 1536 inner features, and gets 32 x 256 tokens. The JVM uses
     * the serial collector, since other collectors let the heap grow with the garbage of the first calls, in which
     * vectors are objects until C2 has compiled the code.
     */
    @Test
    void aLargeBatchNeedsLessThanThreeHundredMegabytes() throws IOException, InterruptedException {
        assumeTrue(Files.exists(STATUS), "the resident memory's peak is read from /proc");
        List<String> printed = ChildJvm.run(BatchMemoryTest.class, List.of("-XX:+UseSerialGC", "-Xms32m", "-Xmx4g"));
        String[] numbers = printed.stream()
                .filter(line -> line.matches("\\d+ \\d+ \\d+"))
                .findFirst()
                .orElseThrow(() -> new IOException(printed.toString()))
                .split(" ");
        long peak = Long.parseLong(numbers[0]);
        // the given weights and the packed weights
        long weights = 2 * Long.parseLong(numbers[1]);
        long allocated = Long.parseLong(numbers[2]);
        // 156 MB were measured: 25 MB of input and output, and otherwise the JVM, a heap of at least 32 MB and garbage
        // of the first calls, which grows if C2 is late; without slices, 1.8 GB were measured
        assertTrue(peak - weights <= 300_000_000, "peak " + peak + " beside weights of " + weights + " bytes");
        // descriptors of the kernels' calls take 0.9 MB here and 1.6 MB for the six blocks of
        // docs/architecture/backward.md, and more until C2 has compiled the calls; a slice is 2 sequences, and one new
        // array of 2 x 256 x 384 floats for each of 16 slices would be 12.6 MB
        assertTrue(allocated <= 8_000_000, "a warm call allocates " + allocated + " bytes");
    }

    /**
     * Prints the peak of resident memory, the bytes of weights, and the smallest number of bytes that a call allocated.
     */
    public static void main(String[] arguments) throws IOException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        TransformerBlock.Config config =
                TransformerBlock.Config.of(384, 12, 1536).withActivation(Activation.GELU);
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            List<TransformerBlock> blocks = new ArrayList<>();
            for (int i = 0; i < BLOCKS; i++) {
                blocks.add(TransformerBlock.initialize(arena, config, i));
            }
            Sequence stack = Sequence.of("layers.", blocks);
            Tensor x = Tensor.allocate(arena, DType.F32, Shape.of(32, 256, 384));
            Tensor y = Tensor.allocate(arena, DType.F32, x.shape());
            long allocated = Long.MAX_VALUE;
            for (int call = 0; call < CALLS; call++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                stack.forward(cpu, x, y);
                allocated = Math.min(allocated, threads.getCurrentThreadAllocatedBytes() - before);
            }
            long weights = stack.parameters().values().stream()
                    .mapToLong(tensor -> tensor.memory().byteSize())
                    .sum();
            System.out.println(peak() + " " + weights + " " + allocated);
        }
    }

    private static long peak() throws IOException {
        String line = Files.readAllLines(STATUS).stream()
                .filter(text -> text.startsWith("VmHWM:"))
                .findFirst()
                .orElseThrow();
        return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
    }
}
