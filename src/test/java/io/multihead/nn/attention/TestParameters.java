package io.multihead.nn.attention;

import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/**
 * Random parameters of a layer. This class is in the layer's package, because only this package knows their names and
 * shapes.
 */
public final class TestParameters {
    private TestParameters() {}

    /** Returns a parameter with values of a useful size for every name of the configuration. */
    public static Map<String, Tensor> of(MultiHeadConfig config, Random random) {
        Map<String, Tensor> made = new LinkedHashMap<>();
        boolean fused = LayerParameters.fusable(config) && random.nextBoolean();
        LayerParameters.shapes(config, fused).forEach((name, shape) -> {
            double size = name.contains("weight") ? 1 / Math.sqrt(shape.dim(1)) : 0.5;
            Tensor tensor = TestTensors.zeros(DType.F32, shape.toArray());
            made.put(name, TestTensors.fill(tensor, () -> size * random.nextGaussian()));
        });
        return made;
    }
}
