package io.multihead.jmh.bench;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** The input of the benchmarks of softmax, forward and backward: 512 rows of scores. */
public abstract class SoftmaxRows extends Comparison {
    static final int ROWS = 512;

    /** Scores in a row. */
    @Param({"256", "2048"})
    public int columns;

    @Param({"1"})
    public int threads;

    @Benchmark
    public void rows() {
        call.run();
    }

    Tensor view(FloatBuffer buffer) {
        return Tensor.view(MemorySegment.ofBuffer(buffer), DType.F32, Shape.of(ROWS, columns));
    }
}
