package io.multihead.jmh.bench;

import org.openjdk.jmh.annotations.Param;

/** A comparison on one thread and on two threads. */
public abstract class ThreadedComparison extends Comparison {
    @Param({"1", "2"})
    public int threads;

    @Override
    final int threads() {
        return threads;
    }
}
