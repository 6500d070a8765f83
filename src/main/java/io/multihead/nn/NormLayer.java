package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.NormBackward;
import io.multihead.internal.nn.NormForward;
import io.multihead.internal.nn.Normalization;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The common part of normalizations of the last axes. Subclasses decide whether the mean is subtracted. */
abstract class NormLayer implements Layer {
    private final Normalization norm;
    private final Map<String, Tensor> parameters;

    NormLayer(Shape normalized, double epsilon, boolean centered, @Nullable Tensor weight, @Nullable Tensor bias) {
        requireSettings(normalized, epsilon);
        this.norm = new Normalization(normalized, epsilon, centered, weight, bias);
        Map<String, Tensor> named = new LinkedHashMap<>();
        put(named, Normalization.WEIGHT, weight);
        put(named, Normalization.BIAS, bias);
        this.parameters = Collections.unmodifiableMap(named);
    }

    /** Fails unless a layer normalizes axes of this shape, with this epsilon. */
    static void requireSettings(Shape normalized, double epsilon) {
        Checks.notNull(normalized, "normalized");
        if (normalized.rank() == 0 || normalized.elements() == 0) {
            throw Checks.fail("normalized", normalized.toString(), "expected one axis or more, and elements");
        }
        if (!(epsilon >= 0 && epsilon < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("epsilon", String.valueOf(epsilon), "expected a finite number of at least 0");
        }
    }

    private void put(Map<String, Tensor> named, String name, @Nullable Tensor tensor) {
        if (tensor == null) {
            return;
        }
        TensorChecks.requireFloating(tensor, name);
        TensorChecks.requireShape(tensor, name, norm.shape());
        named.put(name, tensor);
    }

    @Override
    public final Map<String, Tensor> parameters() {
        return parameters;
    }

    @Override
    public final Shape outputShape(Shape input) {
        Shape normalized = norm.shape();
        if (!endsWith(Checks.notNull(input, "input"), normalized)) {
            throw Checks.fail("x", "shape " + input, "expected the last axes to be " + normalized);
        }
        RowView.requireLength(normalized.elements(), 2, "elements of a row");
        return input;
    }

    private static boolean endsWith(Shape input, Shape last) {
        int lead = input.rank() - last.rank();
        boolean ends = lead >= 0;
        for (int axis = 0; ends && axis < last.rank(); axis++) {
            ends = input.dim(lead + axis) == last.dim(axis);
        }
        return ends;
    }

    @Override
    public final int independentAxes(Shape input) {
        return Math.max(0, Checks.notNull(input, "input").rank() - norm.shape().rank());
    }

    @Override
    public final void forward(Compute cpu, Tensor x, Tensor y) {
        Shape output = outputShape(Checks.notNull(x, "x").shape());
        LayerChecks.forward(cpu, x, y, output, norm.weight(), norm.bias());
        NormForward.run(cpu, norm, x, y);
    }

    @Override
    public final Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        forward(cpu, x, y);
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                NormBackward.run(cpu, norm, x, dy, dx, gradients);
            }
        };
    }
}
