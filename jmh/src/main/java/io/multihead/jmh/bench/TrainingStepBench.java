package io.multihead.jmh.bench;

import io.multihead.gemm.Activation;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Torch;
import io.multihead.jmh.peer.TorchBlocks;
import io.multihead.nn.Gradients;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.TransformerEncoderLayerImpl;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Warmup;

/** Forward and backward of a stack of post-norm blocks with GELU, with all gradients and without an optimizer. */
@Warmup(iterations = 5, time = 2)
public class TrainingStepBench extends ThreadedComparison {
    private static final int EMBED_DIM = 256;
    private static final int FEED_FORWARD = 1024;
    private static final int BATCH = 8;
    private static final int TOKENS = 128;
    private static final int HEADS = 8;

    @Param({"multihead", "pytorch"})
    public String impl;

    @Param({"4"})
    public int blocks;

    @Override
    public Work work() {
        return Work.training(blocks, BATCH * TOKENS, TOKENS, EMBED_DIM, FEED_FORWARD);
    }

    @Override
    void open() {
        int length = BATCH * TOKENS * EMBED_DIM;
        FloatBuffer x = Data.gaussian(length, 1);
        FloatBuffer upstream = Data.gaussian(length, 2);
        FloatBuffer gradient = Data.zeros(length);
        List<TransformerBlock> stack = new ArrayList<>();
        for (int i = 0; i < blocks; i++) {
            TransformerBlock.Config config =
                    TransformerBlock.Config.of(EMBED_DIM, HEADS, FEED_FORWARD).withActivation(Activation.GELU);
            stack.add(TransformerBlock.initialize(Arena.ofAuto(), config, i));
        }
        Runnable ours = ours(stack, x, upstream, gradient);
        ours.run();
        load(impl, () -> switch (impl) {
            case "multihead" -> ours;
            case "pytorch" -> torch(stack, x, upstream, gradient);
            default -> throw unknown(impl);
        });
    }

    private Runnable ours(List<TransformerBlock> stack, FloatBuffer x, FloatBuffer upstream, FloatBuffer gradient) {
        Sequence whole = Sequence.of("layers.", stack);
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), whole);
        Tensor input = view(x);
        Tensor output = Tensor.allocate(Arena.ofAuto(), DType.F32, input.shape());
        return () -> {
            Gradients.clear(gradients);
            try (Pass pass = whole.record(cpu, input, output)) {
                pass.backward(view(upstream), view(gradient), gradients);
            }
        };
    }

    /** Returns PyTorch's blocks with the same parameters. In their tensors, the axis of tokens precedes the batch. */
    private Runnable torch(List<TransformerBlock> stack, FloatBuffer x, FloatBuffer upstream, FloatBuffer expected) {
        Torch.threads(threads);
        List<TransformerEncoderLayerImpl> layers = TorchBlocks.of(
                EMBED_DIM,
                HEADS,
                FEED_FORWARD,
                stack.stream().map(TransformerBlock::parameters).toList());
        long[] shape = {BATCH, TOKENS, EMBED_DIM};
        org.bytedeco.pytorch.Tensor leaf =
                Torch.copy(x, shape).transpose(0, 1).contiguous().requires_grad_(true);
        org.bytedeco.pytorch.Tensor top =
                Torch.copy(upstream, shape).transpose(0, 1).contiguous();
        Runnable made = () -> {
            try (PointerScope scope = new PointerScope()) {
                layers.forEach(layer -> layer.zero_grad(true));
                if (leaf.grad().defined()) {
                    leaf.mutable_grad().reset();
                }
                Torch.backward(TorchBlocks.forward(layers, leaf), top);
            }
        };
        made.run();
        FloatBuffer actual = Data.zeros(expected.capacity());
        Torch.read(leaf.grad().transpose(0, 1), actual);
        // four blocks of f32 arithmetic, each with some tens of roundings
        Data.requireClose(impl, expected, actual, 2e-5);
        return made;
    }

    private static Tensor view(FloatBuffer buffer) {
        return Data.tensor(buffer, BATCH, TOKENS, EMBED_DIM);
    }
}
