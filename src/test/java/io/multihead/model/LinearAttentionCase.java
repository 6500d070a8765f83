package io.multihead.model;

import io.multihead.gemm.PackedWeights;
import io.multihead.reference.ReferenceLinearAttention;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** Linear attention with random weights, as a part and as a specification. */
final class LinearAttentionCase {
    private static final double EPSILON = 1e-5;

    final LinearHeads heads;
    final GatedLinearAttention part;
    final ReferenceLinearAttention reference;
    private final SplittableRandom random;

    LinearAttentionCase(LinearHeads heads, int dim, int taps, long seed) {
        this.heads = heads;
        random = new SplittableRandom(seed);
        int width = heads.valueHeads() * heads.valueDim();
        int channels = 2 * heads.keyHeads() * heads.keyDim() + width;
        int values = heads.valueHeads();
        List<Tensor> weights = Stream.of(channels, width, values, values)
                .map(outputs -> gaussian(0.02, 1 / Math.sqrt(dim), outputs, dim))
                .toList();
        Tensor factors = gaussian(0.2, 0.4, channels, taps);
        Tensor slopes = gaussian(-1, 0.3, values);
        for (int i = 0; i < values; i++) {
            slopes.set(-Math.abs(slopes.get(i)), i);
        }
        Tensor biases = gaussian(-2, 1.5, values);
        Tensor norm = gaussian(1, 0.3, heads.valueDim());
        Tensor output = gaussian(0.02, 1 / Math.sqrt(width), dim, width);
        part = GatedLinearAttention.of(
                heads,
                LinearGroup.of(weights.stream().map(LinearAttentionCase::linear).toArray(PackedLinear[]::new)),
                factors,
                LinearDecay.of(slopes, biases),
                Norm.rms(norm, EPSILON),
                linear(output));
        double[] decay = Arrays.copyOf(wide(slopes), 2 * values);
        System.arraycopy(wide(biases), 0, decay, values, values);
        reference = new ReferenceLinearAttention(
                weights.stream().map(LinearAttentionCase::reference).toList(),
                wide(factors),
                decay,
                new ReferenceTransformer.Norm(wide(norm), null, EPSILON, false, false),
                reference(output),
                new ReferenceLinearAttention.Heads(heads.keyHeads(), values, heads.tiled()));
    }

    Tensor gaussian(double mean, double deviation, long... dims) {
        int count = (int) Arrays.stream(dims).reduce(1, (a, b) -> a * b);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian(mean, deviation);
        }
        return Tensor.of(values, dims);
    }

    private static PackedLinear linear(Tensor weight) {
        return PackedLinear.of(PackedWeights.ofOutputRows(weight));
    }

    static double[] wide(Tensor tensor) {
        float[] values = tensor.toArray();
        double[] wide = new double[values.length];
        Arrays.setAll(wide, i -> values[i]);
        return wide;
    }

    private static ReferenceTransformer.Linear reference(Tensor weight) {
        return new ReferenceTransformer.Linear(wide(weight), null, (int) weight.dim(0), (int) weight.dim(1));
    }
}
