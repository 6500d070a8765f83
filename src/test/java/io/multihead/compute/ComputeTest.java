package io.multihead.compute;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

/** Every unit once, whoever runs it. */
class ComputeTest {
    @Test
    void everyUnitRunsOnce() {
        List<Runnable> late = new ArrayList<>();
        try (Compute serial = Compute.serial();
                Compute threads = Compute.threads(4);
                Compute never = Compute.on(task -> {}, 3);
                Compute direct = Compute.on(Runnable::run, 3);
                Compute afterwards = Compute.on(late::add, 3)) {
            for (Compute cpu : List.of(serial, threads, never, direct, afterwards)) {
                for (int units : new int[] {0, 1, 2, 7, 1000}) {
                    for (int round = 0; round < 50; round++) {
                        AtomicIntegerArray runs = new AtomicIntegerArray(units + 1);
                        run(cpu, (unit, scratch) -> runs.incrementAndGet((int) unit), units);
                        for (int i = 0; i < units; i++) {
                            assertEquals(1, runs.get(i));
                        }
                    }
                }
            }
            late.forEach(Runnable::run);
        }
        assertDoesNotThrow(() -> late.forEach(Runnable::run), "a helper may come after the end");
    }

    @Test
    void aUnitMayCallAKernelItself() {
        try (Compute cpu = Compute.threads(3)) {
            AtomicIntegerArray runs = new AtomicIntegerArray(1);
            run(cpu, (unit, scratch) -> run(cpu, (inner, s) -> runs.incrementAndGet(0), 5), 8);
            assertEquals(40, runs.get(0));
        }
    }

    @Test
    void whatAUnitThrowsReachesTheCaller() {
        try (Compute cpu = Compute.threads(3)) {
            for (int round = 0; round < 100; round++) {
                var error = assertThrows(
                        IllegalCallerException.class,
                        () -> run(
                                cpu,
                                (unit, scratch) -> {
                                    if (unit == 5) {
                                        throw new IllegalCallerException("unit 5");
                                    }
                                },
                                20));
                assertEquals("unit 5", error.getMessage());
            }
        }
    }

    @Test
    void closedMeansClosed() {
        Compute cpu = Compute.threads(2);
        cpu.close();
        cpu.close();
        assertEquals(
                "compute: closed; expected an open one",
                assertThrows(IllegalStateException.class, cpu::take).getMessage());
        assertEquals(
                "threads: 0; expected at least 1",
                assertThrows(IllegalArgumentException.class, () -> Compute.threads(0))
                        .getMessage());
        assertEquals(
                "parallelism: 0; expected at least 1",
                assertThrows(IllegalArgumentException.class, () -> Compute.on(Runnable::run, 0))
                        .getMessage());
    }

    private static void run(Compute cpu, Compute.Job job, long units) {
        Workspace scratch = cpu.take();
        try {
            cpu.run(job, units, scratch);
        } finally {
            cpu.giveBack(scratch);
        }
    }
}
