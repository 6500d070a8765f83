package io.multihead.nn.attention;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Extracts some heads of a layer (Michel et al. 2019, section 4) by copying their parameters. */
final class HeadExtraction {
    private HeadExtraction() {}

    /** Returns copies of a layer's parameters without the rows and columns of the other heads. */
    static LayerParameters keep(LayerParameters layer, Arena arena, int... heads) {
        Checks.notNull(heads, "heads");
        MultiHeadConfig config = layer.config();
        int all = config.queryHeads();
        if (config.keyValueHeads() != all) {
            throw Checks.fail(
                    "heads",
                    Arrays.toString(heads),
                    "expected a layer whose heads share no keys; " + all + " heads share " + config.keyValueHeads());
        }
        Checks.distinctIndices(heads, all, "heads");
        MultiHeadConfig smaller = config.selectHeads(arena, heads);
        return LayerParameters.of(smaller, copies(layer, smaller, arena, heads)::get);
    }

    private static Map<String, Tensor> copies(
            LayerParameters layer, MultiHeadConfig smaller, Arena arena, int... heads) {
        MultiHeadConfig config = layer.config();
        boolean fused = layer.byName().containsKey(LayerParameters.FUSED_WEIGHT);
        Map<String, Tensor> copies = new LinkedHashMap<>();
        LayerParameters.shapes(smaller, fused).forEach((name, shape) -> {
            Tensor from = layer.get(name);
            Tensor to = Tensor.allocate(arena, from.dtype(), shape);
            switch (name) {
                case LayerParameters.FUSED_WEIGHT, LayerParameters.INPUT_BIAS -> {
                    for (Projection projection : Projection.values()) {
                        copyHeads(projection.rows(config, from), projection.rows(smaller, to), 0, config, heads);
                    }
                }
                case LayerParameters.KEY_BIAS, LayerParameters.VALUE_BIAS -> copyHeads(from, to, 2, config, heads);
                case LayerParameters.OUTPUT_WEIGHT -> copyHeads(from, to, 1, config, heads);
                case LayerParameters.OUTPUT_BIAS, LayerParameters.QUERY_NORM, LayerParameters.KEY_NORM ->
                    from.copyTo(to);
                default -> copyHeads(from, to, 0, config, heads);
            }
            copies.put(name, to);
        });
        return copies;
    }

    /** Copies the parts of an axis that belong to the remaining heads. */
    private static void copyHeads(Tensor from, Tensor to, int axis, MultiHeadConfig config, int... heads) {
        long size = from.dim(axis) / config.queryHeads();
        for (int i = 0; i < heads.length; i++) {
            from.slice(axis, heads[i] * size, (heads[i] + 1) * size).copyTo(to.slice(axis, i * size, (i + 1) * size));
        }
    }
}
