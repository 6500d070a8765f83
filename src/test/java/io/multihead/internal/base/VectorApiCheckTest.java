package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.position.Rope;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A JVM with a missing or wrong flag reports this flag, whichever class of the library is used first. */
@Execution(ExecutionMode.CONCURRENT)
class VectorApiCheckTest {
    private static final Map<String, Runnable> FIRST_CALLS = new LinkedHashMap<>();

    static {
        KeyValueCache.Config config = KeyValueCache.Config.of(1, 1, 4);
        FIRST_CALLS.put("serial", Compute::serial);
        FIRST_CALLS.put("threads", () -> Compute.threads(2));
        FIRST_CALLS.put("executor", () -> Compute.on(Runnable::run, 2));
        FIRST_CALLS.put("packed", () -> PackedWeights.ofInputRows(Tensor.of(new float[4], 2, 2)));
        FIRST_CALLS.put("contiguous", () -> KeyValueCache.contiguous(config, 1, 1));
        FIRST_CALLS.put("paged", () -> KeyValueCache.paged(config, 1 << 20));
        FIRST_CALLS.put("rope", () -> Rope.of(Rope.Config.of(2)).apply(new float[2], 0, 1));
    }

    /** Makes each first call and prints its result. */
    public static void main(String[] arguments) {
        FIRST_CALLS.forEach((name, call) -> {
            String result = "ok";
            try {
                call.run();
            } catch (Throwable thrown) {
                result = thrown.toString();
            }
            System.out.println(name + " -> " + result);
        });
    }

    @Test
    void aMissingModuleIsNamed() throws IOException, InterruptedException {
        String expected =
                "java.lang.IllegalStateException: Multihead needs the Vector API: start the JVM with --add-modules";
        assertAll(expected, List.of());
    }

    @Test
    void aVectorWidthThatDoesNotExistIsNamed() throws IOException, InterruptedException {
        String expected = "java.lang.IllegalStateException: io.multihead.lanes: 32; expected 128, 256 or 512";
        assertAll(expected, List.of("--add-modules", "jdk.incubator.vector", "-Dio.multihead.lanes=32"));
    }

    @Test
    void theRightFlagsPass() throws IOException, InterruptedException {
        assertAll("ok", List.of("--add-modules", "jdk.incubator.vector", "-Dio.multihead.lanes=128"));
    }

    private void assertAll(String expected, List<String> flags) throws IOException, InterruptedException {
        List<String> lines = ChildJvm.runWithOnly(VectorApiCheckTest.class, flags);
        List<String> results =
                lines.stream().filter(line -> line.contains(" -> ")).toList();
        assertEquals(FIRST_CALLS.size(), results.size(), lines.toString());
        for (String result : results) {
            assertTrue(result.contains(" -> " + expected), result);
        }
    }
}
