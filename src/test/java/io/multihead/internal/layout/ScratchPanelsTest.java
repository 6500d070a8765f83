package io.multihead.internal.layout;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class ScratchPanelsTest {
    /** The owner of a Scratch closes it while another thread frees it as garbage. */
    @Test
    void twoThreadsMayFreeAtTheSameTime() throws Exception {
        CyclicBarrier both = new CyclicBarrier(2);
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (int round = 0; round < 300; round++) {
                ScratchPanels panels = new ScratchPanels(new Object());
                for (int block = 0; block < 20; block++) {
                    panels.replace(PanelMemory.NONE, 32);
                }
                List<Future<?>> frees = new ArrayList<>();
                for (int thread = 0; thread < 2; thread++) {
                    frees.add(threads.submit(() -> {
                        both.await();
                        panels.free();
                        return null;
                    }));
                }
                for (Future<?> free : frees) {
                    assertDoesNotThrow(() -> free.get());
                }
            }
        }
    }
}
