package io.multihead;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.kernel.Lanes;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Native memory of caches, packed weights and scratch, in JVMs with a small heap. */
@Execution(ExecutionMode.CONCURRENT)
class NativeMemoryTest {
    private static final int CREATIONS = 300;
    private static final long MIB = 1 << 20;

    /** A cache in an arena is limited by nothing but the machine; in i8 with heads of 64, 120 MiB of it are scales. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "I8"})
    void aCacheOfTwoGibibytesFitsAJvmWithASmallHeap(DType dtype) throws IOException, InterruptedException {
        assertHolds("cache " + dtype, "-Xmx128m");
    }

    /** Memory that is never closed is freed: 6 GiB of caches and weights, and scratch of 300 Computes. */
    @Test
    void nothingLeaksWhenNobodyCloses() throws IOException, InterruptedException {
        assertHolds("abandon", "-Xmx64m", "-XX:MaxDirectMemorySize=128m", NativeMemory.TRACKING);
    }

    /** Trim and close free native memory at once, without a garbage collection. */
    @Test
    void trimAndCloseFreeAtOnce() throws IOException, InterruptedException {
        assertHolds("trim", "-Xmx512m", NativeMemory.TRACKING);
    }

    /** Runs one of the scenarios below in a JVM of its own. */
    public static void main(String[] arguments) {
        switch (arguments[0]) {
            case "cache F32" -> cache(KeyValueCache.Config.of(2, 8, 128));
            case "cache I8" -> cache(KeyValueCache.Config.of(2, 8, 64).withDtype(DType.I8));
            case "abandon" -> abandon();
            default -> trim();
        }
    }

    private static void cache(KeyValueCache.Config config) {
        long tokens = 2048 * MIB / KeyValueCache.contiguous(config, 1, 1).bytesPerToken();
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.threads(2)) {
            KeyValueCache cache = KeyValueCache.contiguous(config, 1, tokens, arena);
            Tensor token = Tensor.zeros(arena, DType.F32, 1, 8, 1, config.headDim());
            Tensor out = Tensor.zeros(arena, DType.F32, 1, 8, 1, config.headDim());
            token.memory().fill((byte) 63);
            cache.append(cpu, 1, 0, token, token);
            Attention.forward(cpu, token, cache.view(1, 0), AttentionOutputs.of(out), AttentionOptions.CAUSAL);
            report(cache.availableTokens() >= tokens - 512 && out.getAt(5) == token.getAt(5), cache.availableTokens());
        }
    }

    private static void abandon() {
        Tensor x = Tensor.of(new float[256 * 256], 256, 256);
        Tensor y = Tensor.of(new float[256 * 256], 256, 256);
        KeyValueCache.Config config = KeyValueCache.Config.of(1, 8, 128);
        long most = 0;
        for (int i = 0; i < CREATIONS; i++) {
            Gemm.multiply(Compute.serial(), x, x, y, GemmOptions.DEFAULT);
            PackedWeights.of(Tensor.of(new float[1024 * 1024], 1024, 1024));
            KeyValueCache.contiguous(config, 1, 2048);
            most = Math.max(most, NativeMemory.allocated());
        }
        // one cache of 16 MiB and one packed matrix of 4 MiB are alive whenever they have been created
        report(most >= 20 * MIB && most < 400 * MIB, most);
    }

    private static void trim() {
        Tensor x = Tensor.of(new float[1024 * 1024], 1024, 1024);
        Tensor y = Tensor.of(new float[1024 * 1024], 1024, 1024);
        try (Compute cpu = Compute.serial()) {
            long before = NativeMemory.allocated();
            Gemm.multiply(cpu, x, x, y, GemmOptions.DEFAULT);
            long used = NativeMemory.allocated() - before;
            cpu.trim();
            // panels of the columns of B that a task multiplies: 1024, or 384 with 16 vector registers
            long least = Lanes.FEW_REGISTERS ? MIB : 4 * MIB;
            long rest = NativeMemory.allocated() - before;
            report(used >= least && rest < Math.min(MIB, used / 2) && cpu.heldBytes() == 0, used);
            Gemm.multiply(cpu, x, x, y, GemmOptions.DEFAULT);
        }
    }

    private static void report(boolean holds, long figure) {
        System.out.println("result: " + (holds ? "ok" : "failed with " + figure));
    }

    private static void assertHolds(String scenario, String... flags) throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(NativeMemoryTest.class, List.of(flags), scenario);
        assertEquals(
                List.of("result: ok"),
                lines.stream().filter(line -> line.startsWith("result: ")).toList(),
                lines.toString());
    }
}
