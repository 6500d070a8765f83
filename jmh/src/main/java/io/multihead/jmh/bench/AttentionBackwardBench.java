package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Torch;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.nio.FloatBuffer;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Param;

/** Self-attention {@code [1, 8, tokens, 64]}, forward and backward in one call, as in a training step. */
public class AttentionBackwardBench extends ThreadedComparison {
    private static final int HEADS = 8;
    private static final int DIM = 64;

    @Param({"multihead", "pytorch"})
    public String impl;

    @Param({"1024"})
    public int tokens;

    @Param({"false", "true"})
    public boolean causal;

    private long[] sizes;

    @Override
    public Work work() {
        // backward multiplies five times where forward multiplies twice
        return Work.operations(3.5 * Work.attention(HEADS, tokens, DIM, causal));
    }

    @Override
    void open() {
        sizes = new long[] {1, HEADS, tokens, DIM};
        int length = (int) Shape.of(sizes).elements();
        FloatBuffer[] inputs = new FloatBuffer[4];
        FloatBuffer[] expected = new FloatBuffer[3];
        Arrays.setAll(inputs, i -> Data.gaussian(length, i + 1));
        Arrays.setAll(expected, i -> Data.zeros(length));
        Runnable ours = ours(inputs, expected);
        ours.run();
        load(impl, () -> switch (impl) {
            case "multihead" -> ours;
            case "pytorch" -> torch(inputs, expected);
            default -> throw unknown(impl);
        });
    }

    private Runnable torch(FloatBuffer[] inputs, FloatBuffer[] expected) {
        org.bytedeco.pytorch.Tensor[] leaves = new org.bytedeco.pytorch.Tensor[3];
        Arrays.setAll(leaves, i -> Torch.copy(inputs[i], sizes).requires_grad_(true));
        Runnable made = Torch.attentionBackward(leaves, Torch.copy(inputs[3], sizes), causal, threads);
        made.run();
        for (int i = 0; i < 3; i++) {
            FloatBuffer actual = Data.zeros(expected[i].capacity());
            Torch.read(leaves[i].grad(), actual);
            // two f32 backward passes through the same scores: some tens of roundings
            Data.requireClose(impl, expected[i], actual, 4e-6);
        }
        return made;
    }

    private Runnable ours(FloatBuffer[] inputs, FloatBuffer[] gradients) {
        Tensor query = view(inputs[0]);
        Tensor key = view(inputs[1]);
        Tensor value = view(inputs[2]);
        Tensor upstream = view(inputs[3]);
        Arena arena = Arena.ofAuto();
        AttentionOutputs outputs = AttentionOutputs.of(Tensor.allocate(arena, DType.F32, query.shape()))
                .withLogSumExp(Tensor.allocate(arena, DType.F64, Shape.of(sizes[0], sizes[1], sizes[2])));
        AttentionOptions options = causal ? AttentionOptions.CAUSAL : AttentionOptions.DEFAULT;
        AttentionPass pass = new AttentionPass(query, key, value, outputs, options);
        AttentionGradients to = AttentionGradients.of(view(gradients[0]), view(gradients[1]), view(gradients[2]));
        return () -> {
            Attention.forward(cpu, query, key, value, outputs, options);
            Attention.backward(cpu, pass, upstream, to);
        };
    }

    private Tensor view(FloatBuffer buffer) {
        return Data.tensor(buffer, sizes);
    }
}
