package io.multihead.demo.train;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;

/** Creates tensors of f32. */
public final class Tensors {
    private Tensors() {}

    /** Returns zeros on the heap, for results. */
    public static Tensor room(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }

    /** Returns ids as a row-major tensor {@code [batch, length]}. */
    public static Tensor ids(int[] tokens, int length) {
        float[] ids = new float[tokens.length];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = tokens[i];
        }
        return Tensor.of(ids, tokens.length / length, length);
    }

    /** Returns normally distributed numbers with mean 0 in native memory, for parameters. */
    public static Tensor normal(SplittableRandom random, double deviation, long... dims) {
        Tensor tensor = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(dims));
        float[] values = new float[(int) tensor.shape().elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (deviation * random.nextGaussian());
        }
        Tensor.of(values, dims).copyTo(tensor);
        return tensor;
    }
}
