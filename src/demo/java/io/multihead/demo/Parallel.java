package io.multihead.demo;

import io.multihead.compute.Compute;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * Threads for independent computations, each on one thread, since small calls gain little from a second thread. Results
 * do not depend on the number of threads.
 */
final class Parallel implements AutoCloseable {
    private final ForkJoinPool pool;
    private final int threads;
    private final Compute serial = Compute.serial();

    /** Starts {@code threads} threads, the maximum number of simultaneous computations. */
    Parallel(int threads) {
        this.threads = threads;
        // asynchronous mode: first in, first out
        pool = new ForkJoinPool(threads, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, true);
    }

    /**
     * Returns the Compute of the computations. Several threads may use it, and each computes only on the calling
     * thread.
     */
    Compute serial() {
        return serial;
    }

    <T> CompletableFuture<T> start(Supplier<T> computation) {
        return CompletableFuture.supplyAsync(computation, pool);
    }

    /**
     * Returns the values for 0 to {@code count - 1}. They are started in this order, so the longest computation should
     * be the first.
     */
    <T> List<T> map(int count, IntFunction<T> value) {
        Object[] values = new Object[count];
        AtomicInteger taken = new AtomicInteger();
        Runnable loop = () -> {
            for (int i = taken.getAndIncrement(); i < count; i = taken.getAndIncrement()) {
                values[i] = value.apply(i);
            }
        };
        List<ForkJoinTask<?>> helpers = new ArrayList<>();
        for (int helper = 1; helper < Math.min(threads, count); helper++) {
            helpers.add(pool.submit(loop));
        }
        loop.run();
        helpers.forEach(ForkJoinTask::join);
        @SuppressWarnings("unchecked") // all stored values have type T
        List<T> all = (List<T>) Arrays.asList(values);
        return all;
    }

    @Override
    public void close() {
        pool.close();
        serial.close();
    }
}
