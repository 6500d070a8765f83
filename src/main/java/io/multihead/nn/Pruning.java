package io.multihead.nn;

import io.multihead.internal.Checks;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Removes heads from a layer (Michel et al. 2019, section 4) by copying what the other heads need. */
final class Pruning {
    private Pruning() {}

    static MultiHeadAttention keep(MultiHeadAttention layer, Arena arena, int... heads) {
        Checks.notNull(heads, "heads");
        Config config = layer.config();
        int all = config.heads().queryHeads();
        if (config.heads().kvHeads() != all) {
            throw Checks.fail(
                    "heads",
                    Arrays.toString(heads),
                    "expected a layer whose heads share no keys; " + all + " heads share "
                            + config.heads().kvHeads());
        }
        if (heads.length == 0 || Arrays.stream(heads).distinct().count() < heads.length) {
            throw Checks.fail("heads", Arrays.toString(heads), "expected at least one, none repeated");
        }
        for (int head : heads) {
            Checks.index(head, all, "heads");
        }
        LayerHeads kept = new LayerHeads(
                heads.length,
                heads.length,
                config.heads().headDim(),
                config.heads().valueDim());
        Config smaller = new Config(
                config.widths(), kept, config.extras(), config.batchFirst(), config.attentionAxes(), config.options());
        return MultiHeadAttention.of(smaller, copies(layer, smaller, arena, heads)::get);
    }

    private static Map<String, Tensor> copies(MultiHeadAttention layer, Config smaller, Arena arena, int... heads) {
        Config config = layer.config();
        boolean fused = layer.parameters().containsKey(Parameters.FUSED_WEIGHT);
        Map<String, Tensor> copies = new LinkedHashMap<>();
        Parameters.shapes(smaller, fused).forEach((name, shape) -> {
            Tensor from = layer.parameters().get(name);
            Tensor to = Tensor.allocate(arena, from.dtype(), shape);
            switch (name) {
                case Parameters.FUSED_WEIGHT, Parameters.INPUT_BIAS -> {
                    for (Projection projection : Projection.values()) {
                        copyHeads(projection.rows(config, from), projection.rows(smaller, to), 0, config, heads);
                    }
                }
                case Parameters.KEY_BIAS, Parameters.VALUE_BIAS -> copyHeads(from, to, 2, config, heads);
                case Parameters.OUTPUT_WEIGHT -> copyHeads(from, to, 1, config, heads);
                case Parameters.OUTPUT_BIAS -> from.copyTo(to);
                default -> copyHeads(from, to, 0, config, heads);
            }
            copies.put(name, to);
        });
        return copies;
    }

    /** Copies the parts of an axis that belong to the heads that stay. */
    private static void copyHeads(Tensor from, Tensor to, int axis, Config config, int... heads) {
        long size = from.dim(axis) / config.heads().queryHeads();
        for (int i = 0; i < heads.length; i++) {
            from.slice(axis, heads[i] * size, (heads[i] + 1) * size).copyTo(to.slice(axis, i * size, (i + 1) * size));
        }
    }
}
