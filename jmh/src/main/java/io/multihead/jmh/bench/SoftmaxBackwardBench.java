package io.multihead.jmh.bench;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Softmax;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/** The gradient of the softmax of 512 rows of scores. */
public class SoftmaxBackwardBench extends SoftmaxRows {
    @Param({"multihead", "scalar"})
    public String impl;

    @Override
    void open() throws Exception {
        FloatBuffer scores = Data.gaussian(ROWS * columns, 1);
        FloatBuffer softmax = Data.zeros(ROWS * columns);
        FloatBuffer upstream = Data.gaussian(ROWS * columns, 2);
        Softmax.forward(cpu, view(scores), view(softmax), null, AttentionOptions.DEFAULT);
        Writer own = out -> switch (impl) {
            case "multihead" -> ours(softmax, upstream, out);
            case "scalar" -> scalar(softmax, upstream, out);
            default -> throw unknown(impl);
        };
        // two f32 sums of the same products
        compare(impl, ROWS * columns, out -> ours(softmax, upstream, out), own, 2e-6);
    }

    private Runnable ours(FloatBuffer softmax, FloatBuffer upstream, FloatBuffer out) {
        Tensor from = view(softmax);
        Tensor given = view(upstream);
        Tensor to = view(out);
        return () -> Softmax.backward(cpu, from, given, to, AttentionOptions.DEFAULT);
    }

    private Runnable scalar(FloatBuffer softmax, FloatBuffer upstream, FloatBuffer out) {
        float[] p = Data.array(softmax);
        float[] given = Data.array(upstream);
        float[] to = new float[ROWS * columns];
        Runnable made = () -> {
            for (int row = 0; row < p.length; row += columns) {
                float mean = 0;
                for (int i = row; i < row + columns; i++) {
                    mean += p[i] * given[i];
                }
                for (int i = row; i < row + columns; i++) {
                    to[i] = p[i] * (given[i] - mean);
                }
            }
        };
        made.run();
        out.put(0, to);
        return made;
    }
}
