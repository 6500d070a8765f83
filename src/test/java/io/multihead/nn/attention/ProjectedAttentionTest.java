package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.nn.Linear;
import io.multihead.position.Rope;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Attention between linear layers has the same bits as the layer with the same weights. */
@Tag("lanes")
class ProjectedAttentionTest {
    private static final Compute SERIAL = Compute.serial();

    private static final MultiHeadConfig CONFIG = MultiHeadConfig.of(24, 6, 4)
            .withKeyValueHeads(2)
            .withBias(false)
            .withRope(Rope.of(Rope.Config.of(4)))
            .withOptions(AttentionOptions.CAUSAL)
            .withDropout(0.25);

    private static Map<String, Tensor> weights(Trained.Storage dense, SplittableRandom random) {
        Map<String, Tensor> weights = new LinkedHashMap<>();
        weights.put("q_proj_weight", dense.normal(random, 0, 0.3, 24, 24));
        weights.put("k_proj_weight", dense.normal(random, 0, 0.3, 8, 24));
        weights.put("v_proj_weight", dense.normal(random, 0, 0.3, 8, 24));
        weights.put("out_proj.weight", dense.normal(random, 0, 0.3, 24, 24));
        return weights;
    }

    private static ProjectedAttention projected(MultiHeadConfig config, Map<String, Tensor> weights) {
        return ProjectedAttention.of(
                config,
                Linear.of(weights.get("q_proj_weight"), null),
                Linear.of(weights.get("k_proj_weight"), null),
                Linear.of(weights.get("v_proj_weight"), null),
                Linear.of(weights.get("out_proj.weight"), null));
    }

    @Test
    void hasTheBitsOfMultiHeadAttention() {
        SplittableRandom random = new SplittableRandom(5);
        try (Arena arena = Arena.ofShared();
                Compute threads = Compute.threads(3)) {
            Trained.Storage dense = new Trained.Storage(arena, Layout.DENSE, DType.F32);
            Map<String, Tensor> weights = weights(dense, random);
            MultiHeadAttention expected = MultiHeadAttention.of(CONFIG, weights::get);
            ProjectedAttention actual = projected(CONFIG, weights);
            Tensor x = dense.normal(random, 0, 1, 3, 9, 24);
            Tensor dy = dense.normal(random, 0, 1, 3, 9, 24);
            Trained of = Trained.run(SERIAL, expected, x, dy, dense, 0.5);
            for (Compute cpu : new Compute[] {SERIAL, threads}) {
                Trained own = Trained.run(cpu, actual, x, dy, dense, 0.5);
                assertArrayEquals(Numbers.of(of.y()), Numbers.of(own.y()), "y");
                assertArrayEquals(Numbers.of(of.dx()), Numbers.of(own.dx()), "dx");
                Map<String, String> names = Map.of(
                        "q_proj_weight", "q_proj.weight",
                        "k_proj_weight", "k_proj.weight",
                        "v_proj_weight", "v_proj.weight",
                        "out_proj.weight", "o_proj.weight");
                names.forEach((name, other) -> assertArrayEquals(
                        Numbers.of(of.gradients().get(name)),
                        Numbers.of(own.gradients().get(other)),
                        name));
            }
            Tensor inferred = dense.allocate(of.y().shape());
            Tensor infers = dense.allocate(of.y().shape());
            expected.forward(SERIAL, x, inferred);
            actual.forward(threads, x, infers);
            assertArrayEquals(Numbers.of(inferred), Numbers.of(infers));
        }
    }

    @Test
    void whatDoesNotFitIsRefused() {
        Trained.Storage dense = new Trained.Storage(Arena.ofAuto(), Layout.DENSE, DType.F32);
        Map<String, Tensor> weights = weights(dense, new SplittableRandom(1));
        String message = assertThrows(
                        IllegalArgumentException.class, () -> projected(CONFIG.withHeadNorm(1e-5), weights))
                .getMessage();
        assertTrue(message.startsWith("config: "), message);
        ProjectedAttention swapped = ProjectedAttention.of(
                CONFIG,
                Linear.of(weights.get("k_proj_weight"), null),
                Linear.of(weights.get("k_proj_weight"), null),
                Linear.of(weights.get("v_proj_weight"), null),
                Linear.of(weights.get("out_proj.weight"), null));
        Tensor x = dense.normal(new SplittableRandom(2), 0, 1, 1, 5, 24);
        assertEquals(
                "query: output [1, 5, 8]; expected [1, 5, 24]",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> swapped.forward(SERIAL, x, dense.allocate(x.shape())))
                        .getMessage());
    }
}
