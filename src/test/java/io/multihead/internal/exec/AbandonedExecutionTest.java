package io.multihead.internal.exec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.multihead.support.Patience;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Worker threads end when their execution becomes unreachable without a close. Idle threads check this every five
 * seconds.
 */
@org.junit.jupiter.api.parallel.Execution(ExecutionMode.CONCURRENT)
class AbandonedExecutionTest {
    @Test
    void workersOfAnExecutionThatIsGarbageEnd() throws Exception {
        for (Thread worker : workersOfOneThatNobodyCloses()) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Patience.HANG_SECONDS);
            while (worker.isAlive() && System.nanoTime() < end) {
                System.gc();
                worker.join(1000);
            }
            assertFalse(worker.isAlive());
        }
    }

    private static Set<Thread> workersOfOneThatNobodyCloses() {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        CyclicBarrier all = new CyclicBarrier(3);
        Execution cpu = Execution.threads(3);
        Workspace scratch = cpu.take();
        cpu.run(
                (task, workspace) -> {
                    meet(all);
                    threads.add(Thread.currentThread());
                },
                3,
                scratch);
        cpu.giveBack(scratch);
        threads.remove(Thread.currentThread());
        assertEquals(2, threads.size());
        return threads;
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException exception) {
            throw new AssertionError("others do not arrive", exception);
        }
    }
}
