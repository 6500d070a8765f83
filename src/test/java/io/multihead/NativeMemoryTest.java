package io.multihead;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Positions;
import io.multihead.support.ChildJvm;
import io.multihead.support.NativeMemory;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Tests native memory of caches, packed weights and scratch in a JVM whose heap and direct memory limit are smaller than the allocations.
 * All scenarios run in one JVM: each scenario closes its allocations or measures the memory that is still allocated.
 */
@Execution(ExecutionMode.CONCURRENT)
class NativeMemoryTest {
    /** The caches have 1 GiB and the weights 256 MiB, three times the memory that may be in use. */
    private static final int CREATIONS = 64;

    private static final long MIB = 1 << 20;

    @Test
    void nativeMemoryIsLimitedByTheMachineAndFreed() throws IOException, InterruptedException {
        List<String> flags = List.of("-Xmx64m", "-XX:MaxDirectMemorySize=128m", NativeMemory.TRACKING);
        List<String> lines = ChildJvm.run(NativeMemoryTest.class, flags);
        assertEquals(
                List.of("trim: ok", "cache F32: ok", "cache I8: ok", "abandon: ok"),
                lines.stream()
                        .filter(line -> line.matches("(trim|cache|abandon).*: (ok|failed).*"))
                        .toList(),
                lines.toString());
    }

    /** Runs the scenarios. */
    public static void main(String[] arguments) {
        trim();
        cache("cache F32", KeyValueCache.Config.of(2, 8, 128));
        cache("cache I8", KeyValueCache.Config.of(2, 8, 64).withFormat(CacheFormat.I8));
        abandon();
    }

    /** Only the memory of the machine limits a cache of 2 GiB in an arena. In i8 with 64 elements per head, 120 MiB of it are scales. */
    private static void cache(String name, KeyValueCache.Config config) {
        long tokens = 2048 * MIB / KeyValueCache.contiguous(config, 1, 1).bytesPerToken();
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.threads(2)) {
            KeyValueCache cache = KeyValueCache.contiguous(arena, config, 1, tokens);
            Tensor token = Tensor.zeros(arena, DType.F32, 1, 8, 1, config.headDim());
            Tensor out = Tensor.zeros(arena, DType.F32, 1, 8, 1, config.headDim());
            token.memory().fill((byte) 63);
            cache.append(cpu, 1, 0, token, token);
            Attention.forward(cpu, token, cache.view(1, 0), AttentionOutputs.of(out), AttentionOptions.CAUSAL);
            report(
                    name,
                    cache.availableTokens() >= tokens - 512 && Positions.get(out, 5) == Positions.get(token, 5),
                    cache.availableTokens());
        }
    }

    /** The garbage collector frees the memory of caches, weights and Computes that are never closed. */
    private static void abandon() {
        Tensor x = Tensor.of(new float[256 * 256], 256, 256);
        Tensor y = Tensor.of(new float[256 * 256], 256, 256);
        KeyValueCache.Config config = KeyValueCache.Config.of(1, 8, 128);
        long most = 0;
        for (int i = 0; i < CREATIONS; i++) {
            Gemm.multiply(Compute.serial(), x, x, y, GemmOptions.DEFAULT);
            PackedWeights.ofInputRows(Tensor.of(new float[1024 * 1024], 1024, 1024));
            KeyValueCache.contiguous(config, 1, 2048);
            most = Math.max(most, NativeMemory.allocated());
        }
        // at least the newest cache of 16 MiB and the newest packed matrix of 4 MiB are alive
        report("abandon", most >= 20 * MIB && most < 400 * MIB, most);
    }

    /** {@code trim} and {@code close} free native memory immediately, without a garbage collection. */
    private static void trim() {
        Tensor x = Tensor.of(new float[1024 * 1024], 1024, 1024);
        Tensor y = Tensor.of(new float[1024 * 1024], 1024, 1024);
        try (Compute cpu = Compute.serial()) {
            long before = NativeMemory.allocated();
            Gemm.multiply(cpu, x, x, y, GemmOptions.DEFAULT);
            long used = NativeMemory.allocated() - before;
            cpu.trim();
            // scratch holds panels of the columns of B that a task multiplies: 1024, or 384 with 16 vector registers
            long least = Lanes.FEW_REGISTERS ? MIB : 4 * MIB;
            long rest = NativeMemory.allocated() - before;
            report("trim", used >= least && rest < Math.min(MIB, used / 2) && cpu.heldBytes() == 0, used);
            Gemm.multiply(cpu, x, x, y, GemmOptions.DEFAULT);
        }
    }

    private static void report(String scenario, boolean holds, long figure) {
        System.out.println(scenario + ": " + (holds ? "ok" : "failed with " + figure));
    }
}
