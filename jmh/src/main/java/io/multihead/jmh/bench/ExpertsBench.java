package io.multihead.jmh.bench;

import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.RandomLinear;
import io.multihead.model.Buffers;
import io.multihead.model.Experts;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.PackedLinear;
import io.multihead.model.Router;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jmh.annotations.Param;

/**
 * A layer of experts with the sizes of Qwen3-30B-A3B. {@code loops} computes each row in a separate call, so that no
 * weights are read for several rows.
 */
public class ExpertsBench extends ThreadedComparison {
    private static final int DIM = 2048;
    private static final int INNER = 768;
    private static final int COUNT = 128;

    @Param({"multihead", "loops"})
    public String impl;

    @Param({"Q8_0", "Q4_K"})
    public String format;

    @Param({"1", "16", "512"})
    public int rows;

    @Param({"8"})
    public int used;

    @Override
    public Work work() {
        return Work.operations(6.0 * rows * used * DIM * INNER);
    }

    @Override
    void open() throws Exception {
        Experts experts = experts();
        Tensor x = Data.tensor(1, rows, DIM);
        compare(impl, rows * DIM, y -> make("multihead", experts, x, y), y -> make(impl, experts, x, y), 1e-5);
    }

    private Runnable make(String name, Experts experts, Tensor x, FloatBuffer output) {
        Tensor y = Data.tensor(output, rows, DIM);
        Buffers buffers = experts.buffers(rows);
        return switch (name) {
            case "multihead" -> () -> experts.forward(cpu, x, y, buffers);
            case "loops" -> () -> oneByOne(experts, x, y, buffers);
            default -> throw unknown(name);
        };
    }

    private void oneByOne(Experts experts, Tensor x, Tensor y, Buffers buffers) {
        for (int row = 0; row < rows; row++) {
            experts.forward(cpu, x.slice(0, row, row + 1L), y.slice(0, row, row + 1L), buffers);
        }
    }

    private Experts experts() {
        List<FeedForward> all = new ArrayList<>();
        for (int expert = 0; expert < COUNT; expert++) {
            LinearGroup gateAndUp = LinearGroup.of(
                    RandomLinear.of(format, DIM, INNER, 3 * expert),
                    RandomLinear.of(format, DIM, INNER, 3 * expert + 1));
            all.add(FeedForward.gated(Activation.SILU, gateAndUp, RandomLinear.of(format, INNER, DIM, 3 * expert + 2)));
        }
        Tensor logits = Data.tensor(-1, DIM, COUNT);
        return Experts.of(Router.of(PackedLinear.of(PackedWeights.ofInputRows(logits)), used), all);
    }
}
