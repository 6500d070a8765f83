package io.multihead.jmh.bench;

import io.multihead.jmh.data.Data;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/** The input of the benchmarks of softmax, forward and backward: 512 rows of scores. */
public abstract class SoftmaxRows extends Comparison {
    static final int ROWS = 512;

    @Param({"256", "2048"})
    public int columns;

    @Param({"1"})
    public int threads;

    @Override
    int threads() {
        return threads;
    }

    Tensor view(FloatBuffer buffer) {
        return Data.tensor(buffer, ROWS, columns);
    }
}
