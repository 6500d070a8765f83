package io.multihead.compute;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.position.Rope;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Makes calls of very different sizes, one after the other on one Compute, while other threads allocate and keep every core busy. The
 * operating system may then stop a helper thread between any two instructions. Every output is compared bit by bit with the output of one
 * thread. {@code .ci/soak} runs it under several collectors.
 */
final class Soak {
    private static volatile Object sink = new Object();

    private final List<Call> calls = new ArrayList<>();
    private long rounds;
    private long wrong;
    private long failed;

    private Soak() {}

    private interface Body {
        void run(Compute cpu);
    }

    /** A call, its output, and the bits that one thread computes. */
    private record Call(String name, Body body, Tensor output, byte[] expected) {}

    /**
     * Runs for the given time and prints errors. The exit status is 1 if there was an error.
     *
     * @param args the number of threads and the number of seconds
     */
    public static void main(String[] args) throws InterruptedException {
        int threads = Integer.parseInt(args[0]);
        long seconds = Long.parseLong(args[1]);
        Soak soak = new Soak();
        try (Compute serial = Compute.serial();
                Compute cpu = Compute.threads(threads)) {
            soak.prepare(serial);
            disturb();
            soak.run(cpu, System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds));
        }
        System.out.printf(
                "%d threads, %d s: %d rounds, %d wrong outputs, %d exceptions%n",
                threads, seconds, soak.rounds, soak.wrong, soak.failed);
        System.exit(soak.rounds > 0 && soak.wrong == 0 && soak.failed == 0 ? 0 : 1);
    }

    private void prepare(Compute serial) {
        Tensor small = attention(serial, "small attention", 5, 4, 16);
        attention(serial, "large attention", 2, 400, 8);
        calls.add(calls.get(0));
        Tensor rotated = Tensor.allocate(Arena.global(), DType.F32, small.shape());
        Rope rope = Rope.of(Rope.Config.of(16));
        add(serial, "rope", cpu -> rope.apply(cpu, small, rotated, 3), rotated);
    }

    private Tensor attention(Compute serial, String name, long heads, long tokens, long dim) {
        Shape shape = Shape.of(1, heads, tokens, dim);
        Tensor query = random(shape, 1);
        Tensor key = random(shape, 2);
        Tensor value = random(shape, 3);
        Tensor output = Tensor.allocate(Arena.global(), DType.F32, shape);
        add(serial, name, cpu -> Attention.forward(cpu, query, key, value, output, AttentionOptions.DEFAULT), output);
        return query;
    }

    private void add(Compute serial, String name, Body body, Tensor output) {
        body.run(serial);
        calls.add(new Call(name, body, output, bits(output)));
    }

    private static Tensor random(Shape shape, long seed) {
        Tensor tensor = Tensor.allocate(Arena.global(), DType.F32, shape);
        SplittableRandom random = new SplittableRandom(seed);
        MemorySegment memory = tensor.memory();
        for (long i = 0; i < shape.elements(); i++) {
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
        }
        return tensor;
    }

    private static byte[] bits(Tensor tensor) {
        return tensor.memory().toArray(ValueLayout.JAVA_BYTE);
    }

    /** Keeps every core busy and allocates garbage. */
    private static void disturb() {
        for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
            Thread.ofPlatform().daemon().start(() -> {
                while (true) {
                    sink = new byte[1 << 12];
                }
            });
        }
    }

    private void run(Compute cpu, long end) {
        for (; System.nanoTime() < end; rounds++) {
            for (Call call : calls) {
                call.output.memory().fill((byte) 0);
                try {
                    call.body.run(cpu);
                    if (!Arrays.equals(bits(call.output), call.expected)) {
                        wrong++;
                    }
                } catch (RuntimeException exception) {
                    failed++;
                    if (failed == 1) {
                        exception.printStackTrace();
                    }
                }
            }
        }
    }
}
