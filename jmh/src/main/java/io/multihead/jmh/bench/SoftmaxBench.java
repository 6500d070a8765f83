package io.multihead.jmh.bench;

import io.multihead.attention.AttentionOptions;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Onnx;
import io.multihead.jmh.peer.Torch;
import io.multihead.jmh.rival.JavaSoftmax;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.bytedeco.pytorch.global.torch;
import org.openjdk.jmh.annotations.Param;

/** The softmax of 512 rows of scores. */
public class SoftmaxBench extends SoftmaxRows {
    @Param({"multihead", "scalar", "vectorops", "onnxruntime", "pytorch"})
    public String impl;

    @Override
    void open() throws Exception {
        FloatBuffer scores = Data.gaussian(ROWS * columns, 1);
        // two f32 sums of the same row, and two exponentials
        compare(impl, ROWS * columns, out -> ours(scores, out), out -> make(scores, out), 2e-6);
    }

    private Runnable make(FloatBuffer scores, FloatBuffer out) throws Exception {
        return switch (impl) {
            case "multihead" -> ours(scores, out);
            case "onnxruntime" ->
                new Onnx("Softmax", "")
                        .input("scores", scores, ROWS, columns)
                        .output(out, ROWS, columns)
                        .open(threads);
            case "pytorch" -> torch(scores, out);
            case "scalar", "vectorops" -> java(scores, out);
            default -> throw unknown(impl);
        };
    }

    private Runnable ours(FloatBuffer scores, FloatBuffer out) {
        Tensor from = view(scores);
        Tensor to = view(out);
        return () -> io.multihead.attention.Softmax.forward(cpu, from, to, null, AttentionOptions.DEFAULT);
    }

    private Runnable torch(FloatBuffer scores, FloatBuffer out) {
        Torch.threads(threads);
        org.bytedeco.pytorch.Tensor from = Torch.copy(scores, ROWS, columns);
        org.bytedeco.pytorch.Tensor to = Torch.copy(out, ROWS, columns);
        Runnable made = Torch.inference(() -> torch.softmax_out(to, from, -1));
        made.run();
        Torch.read(to, out);
        return made;
    }

    /** Computes from array to array, since copies would take longer than the softmax with vectors. */
    private Runnable java(FloatBuffer scores, FloatBuffer out) {
        float[] from = Data.array(scores);
        float[] to = new float[ROWS * columns];
        Runnable made = impl.equals("vectorops")
                ? () -> JavaSoftmax.vectors(from, to, columns)
                : () -> JavaSoftmax.scalar(from, to, columns);
        made.run();
        out.put(0, to);
        return made;
    }
}
