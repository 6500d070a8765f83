package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.jmh.data.Data;
import io.multihead.position.Alibi;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.openjdk.jmh.annotations.Param;

/**
 * The cost of score options, and the gain of a window, in backward of causal self-attention {@code [1, 8, 2048, 64]}.
 */
public class BackwardOptionsBench extends Comparison {
    private static final int HEADS = 8;
    private static final int TOKENS = 2048;
    private static final int DIM = 64;

    /**
     * No option, a window of 256 tokens, blocks of 128 tokens of which half are kept, soft-cap, linear biases, or sinks
     * and their gradient.
     */
    @Param({"plain", "window", "blocks", "softcap", "alibi", "sinks"})
    public String impl;

    @Override
    void open() {
        Arena arena = Arena.ofAuto();
        Tensor query = tensor(1);
        Tensor key = tensor(2);
        Tensor value = tensor(3);
        Tensor upstream = tensor(4);
        AttentionOptions options = options();
        AttentionOutputs outputs = AttentionOutputs.of(Tensor.allocate(arena, DType.F32, query.shape()))
                .withLogSumExp(Tensor.allocate(arena, DType.F64, Shape.of(1, HEADS, TOKENS)));
        Attention.forward(cpu, query, key, value, outputs, options);
        AttentionPass pass = new AttentionPass(query, key, value, outputs, options);
        Tensor sinks = impl.equals("sinks") ? Tensor.allocate(arena, DType.F32, Shape.of(HEADS)) : null;
        AttentionGradients to =
                AttentionGradients.of(tensor(5), tensor(6), tensor(7)).withSinks(sinks);
        call = () -> Attention.backward(cpu, pass, upstream, to);
    }

    private AttentionOptions options() {
        AttentionOptions causal = AttentionOptions.CAUSAL;
        return switch (impl) {
            case "plain" -> causal;
            case "window" -> causal.withMask(Mask.CAUSAL.and(Mask.window(255, 0)));
            case "blocks" -> causal.withMask(Mask.CAUSAL.and(Mask.blocks(everySecondBlock(), 128)));
            case "softcap" -> causal.withScores(ScoreOptions.NONE.withSoftCap(50));
            case "alibi" -> causal.withScores(ScoreOptions.NONE.withSlopes(Alibi.slopes(HEADS)));
            case "sinks" -> causal.withScores(ScoreOptions.NONE.withSinks(new float[HEADS]));
            default -> throw unknown(impl);
        };
    }

    /** Returns blocks on the diagonal and every second other block, so that each query sees a key. */
    private static Tensor everySecondBlock() {
        int blocks = TOKENS / 128;
        boolean[] kept = new boolean[blocks * blocks];
        for (int i = 0; i < kept.length; i++) {
            kept[i] = (i / blocks + i % blocks) % 2 == 0;
        }
        return Tensor.of(kept, blocks, blocks);
    }

    private static Tensor tensor(long seed) {
        return Data.tensor(seed, 1, HEADS, TOKENS, DIM);
    }
}
