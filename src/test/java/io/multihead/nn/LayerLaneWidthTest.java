package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The same hash at 128, 256 and 512 bits: no layer's bits depend on the lane width. */
@Tag("lanes")
class LayerLaneWidthTest {
    private static final int GOLDEN_HASH = -778838200;
    private static final int ROWS = 70;
    private static final int FEATURES = 101;

    private final SplittableRandom random = new SplittableRandom(11);
    private final Trained.Storage storage = new Trained.Storage(Arena.ofAuto(), Layout.DENSE, DType.F32);

    @Test
    void everyLaneWidthGivesTheSameBits() {
        Shape row = Shape.of(FEATURES);
        Tensor weight = storage.normal(random, 1, 1, FEATURES);
        Tensor x = storage.normal(random, 0.5, 2, ROWS, FEATURES);
        Tensor dy = storage.normal(random, 0, 1, ROWS, FEATURES);
        List<Layer> layers = List.of(
                Linear.of(storage.normal(random, 0, 1, FEATURES, FEATURES), weight),
                LayerNorm.of(row, 1e-5, weight, storage.normal(random, 0, 1, FEATURES)),
                RmsNorm.of(row, 1e-5, weight),
                Gelu.erf(),
                Gelu.tanh(),
                Relu.of(),
                Dropout.of(0.3));
        List<Tensor> results = new ArrayList<>();
        for (Layer layer : layers) {
            Trained trained = Trained.run(Compute.serial(), layer, x, dy, storage, 0.5);
            results.add(trained.y());
            results.add(trained.dx());
            trained.gradients().forEach((name, gradient) -> results.add(gradient));
        }
        Tensor gradient = storage.allocate(x.shape());
        int[] targets = random.ints(ROWS, 0, FEATURES).toArray();
        double loss = CrossEntropy.of().lossAndGradient(Compute.serial(), x, targets, gradient);
        results.add(gradient);
        int hash = Double.hashCode(loss);
        for (Tensor result : results) {
            hash = 31 * hash + Arrays.hashCode(Numbers.of(result));
        }
        assertEquals(GOLDEN_HASH, hash);
    }
}
