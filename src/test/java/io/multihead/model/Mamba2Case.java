package io.multihead.model;

import io.multihead.gemm.PackedWeights;
import io.multihead.reference.ReferenceMamba2;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Mamba-2 with random weights, as a part and as a specification. */
final class Mamba2Case {
    private static final double EPSILON = 1e-5;

    final Mamba2Heads heads;
    final Mamba2 part;
    final ReferenceMamba2 reference;
    private final SplittableRandom random;

    Mamba2Case(Mamba2Heads heads, int dim, int taps, int normParts, long seed) {
        this.heads = heads;
        random = new SplittableRandom(seed);
        int count = heads.heads();
        int width = count * heads.headDim();
        int channels = width + 2 * heads.groups() * heads.stateDim();
        Tensor projection = gaussian(0.02, 1 / Math.sqrt(dim), width + channels + count, dim);
        Tensor factors = gaussian(0.2, 0.4, channels, taps);
        Tensor biases = gaussian(0.1, 0.3, channels);
        Tensor slopes = gaussian(-1, 0.3, count);
        for (int i = 0; i < count; i++) {
            slopes.set(-Math.abs(slopes.get(i)), i);
        }
        Tensor rates = gaussian(-2, 1.5, count);
        Tensor skips = gaussian(1, 0.5, count);
        Tensor norm = gaussian(1, 0.3, width);
        Tensor output = gaussian(0.02, 1 / Math.sqrt(width), dim, width);
        part = Mamba2.of(
                        heads,
                        LinearGroup.concatenated(linear(projection), width, channels, count),
                        factors,
                        LinearDecay.of(slopes, rates),
                        Norm.rms(norm, EPSILON),
                        linear(output))
                .withConvolutionBias(biases)
                .withSkip(skips)
                .withNormParts(normParts);
        int each = width / normParts;
        reference = new ReferenceMamba2(
                reference(projection),
                wide(factors),
                wide(biases),
                new ReferenceMamba2.Heads(heads.groups(), wide(slopes), wide(rates), wide(skips)),
                IntStream.range(0, normParts)
                        .mapToObj(i -> Arrays.copyOfRange(wide(norm), i * each, (i + 1) * each))
                        .map(weight -> new ReferenceTransformer.Norm(weight, null, EPSILON, false, false))
                        .toList(),
                reference(output));
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
