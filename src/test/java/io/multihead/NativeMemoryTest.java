package io.multihead;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Native memory of caches, packed weights and scratch, in JVMs with a small heap. */
class NativeMemoryTest {
    private static final int CREATIONS = 300;
    private static final long MIB = 1 << 20;

    @TempDir
    Path folder;

    /** A cache in an arena is limited by nothing but the machine. */
    @Test
    void aCacheOfTwoGibibytesFitsAJvmWithASmallHeap() throws IOException, InterruptedException {
        assertEquals(List.of("ok"), run("cache", "-Xmx128m"));
    }

    /** Memory that is never closed is freed: 6 GiB of caches and weights, and scratch of 300 Computes. */
    @Test
    void nothingLeaksWhenNobodyCloses() throws IOException, InterruptedException {
        assertEquals(
                List.of("ok"),
                run("abandon", "-Xmx64m", "-XX:MaxDirectMemorySize=128m", "-XX:NativeMemoryTracking=summary"));
    }

    /** Trim and close free native memory at once, without a garbage collection. */
    @Test
    void trimAndCloseFreeAtOnce() throws IOException, InterruptedException {
        assertEquals(List.of("ok"), run("trim", "-Xmx512m", "-XX:NativeMemoryTracking=summary"));
    }

    /** Runs one of the scenarios below in a JVM of its own. */
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "cache" -> cache();
            case "abandon" -> abandon();
            default -> trim();
        }
    }

    private static void cache() {
        KeyValueCache.Config config = KeyValueCache.Config.of(2, 8, 128);
        long tokens = 2048 * MIB / KeyValueCache.contiguous(config, 1, 1).bytesPerToken();
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.threads(2)) {
            KeyValueCache cache = KeyValueCache.contiguous(config, 1, tokens, arena);
            Tensor token = Tensor.zeros(arena, DType.F32, 1, 8, 1, 128);
            Tensor out = Tensor.zeros(arena, DType.F32, 1, 8, 1, 128);
            token.memory().fill((byte) 63);
            cache.append(cpu, 1, 0, token, token);
            Attention.forward(cpu, token, cache.view(1, 0), AttentionOutputs.of(out), AttentionOptions.CAUSAL);
            report(cache.availableTokens() >= tokens - 512 && out.getAt(5) == token.getAt(5), cache.availableTokens());
        }
    }

    private static void abandon() throws Exception {
        Tensor x = Tensor.of(new float[256 * 256], 256, 256);
        Tensor y = Tensor.of(new float[256 * 256], 256, 256);
        KeyValueCache.Config config = KeyValueCache.Config.of(1, 8, 128);
        long most = 0;
        for (int i = 0; i < CREATIONS; i++) {
            Gemm.multiply(Compute.serial(), x, x, y, GemmOptions.DEFAULT);
            PackedWeights.of(Tensor.of(new float[1024 * 1024], 1024, 1024));
            KeyValueCache.contiguous(config, 1, 2048);
            most = Math.max(most, committed());
        }
        report(most < 400 * MIB, most);
    }

    private static void trim() throws Exception {
        Tensor x = Tensor.of(new float[1024 * 1024], 1024, 1024);
        Tensor y = Tensor.of(new float[1024 * 1024], 1024, 1024);
        try (Compute cpu = Compute.serial()) {
            long before = committed();
            Gemm.multiply(cpu, x, x, y, GemmOptions.DEFAULT);
            long used = committed() - before;
            cpu.trim();
            report(used >= 4 * MIB && committed() - before < MIB && cpu.heldBytes() == 0, used);
            Gemm.multiply(cpu, x, x, y, GemmOptions.DEFAULT);
        }
    }

    private static void report(boolean holds, long figure) {
        System.out.println("result: " + (holds ? "ok" : "failed with " + figure));
    }

    /** Returns the bytes that are allocated outside the JVM's own structures. */
    private static long committed() throws Exception {
        String summary = (String) ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "vmNativeMemory",
                        new Object[] {new String[] {"summary"}},
                        new String[] {String[].class.getName()});
        Matcher matcher =
                Pattern.compile("Other \\(reserved=\\d+KB, committed=(\\d+)KB").matcher(summary);
        return matcher.find() ? Long.parseLong(matcher.group(1)) * 1024 : 0;
    }

    /** Returns the results that a scenario prints. */
    private List<String> run(String scenario, String... flags) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(flags));
        command.addAll(List.of("--add-modules", "jdk.incubator.vector"));
        String classes = location(NativeMemoryTest.class) + File.pathSeparator + location(Compute.class);
        command.addAll(List.of("-cp", classes, NativeMemoryTest.class.getName(), scenario));
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertTrue(process.waitFor(300, TimeUnit.SECONDS), "a JVM that does not end");
        } finally {
            process.destroyForcibly();
        }
        List<String> lines = Files.readAllLines(output);
        List<String> results = lines.stream()
                .filter(line -> line.startsWith("result: "))
                .map(line -> line.substring("result: ".length()))
                .toList();
        return results.isEmpty() ? lines : results;
    }

    private static String location(Class<?> type) {
        return Path.of(URI.create(
                        type.getProtectionDomain().getCodeSource().getLocation().toString()))
                .toString();
    }
}
