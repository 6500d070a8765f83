package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.SingleCall;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What {@link LayerNorm} and {@link RmsNorm} have in common: all but whether the mean is subtracted. */
final class NormLayer {
    static final String WEIGHT = "weight";
    static final String BIAS = "bias";

    final Shape normalized;
    final double epsilon;
    final boolean centred;
    final Map<String, Tensor> parameters;

    NormLayer(Shape normalized, double epsilon, boolean centred, @Nullable Tensor weight, @Nullable Tensor bias) {
        Checks.notNull(normalized, "normalized");
        if (normalized.rank() == 0 || normalized.elements() == 0) {
            throw Checks.fail("normalized", normalized.toString(), "expected one axis or more, and elements");
        }
        if (!(epsilon >= 0 && epsilon < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("epsilon", String.valueOf(epsilon), "expected a finite number of at least 0");
        }
        this.normalized = normalized;
        this.epsilon = epsilon;
        this.centred = centred;
        Map<String, Tensor> named = new LinkedHashMap<>();
        put(named, WEIGHT, weight);
        put(named, BIAS, bias);
        this.parameters = Collections.unmodifiableMap(named);
    }

    private void put(Map<String, Tensor> named, String name, @Nullable Tensor tensor) {
        if (tensor == null) {
            return;
        }
        CallTensors.requireFloating(name, tensor);
        if (!tensor.shape().equals(normalized)) {
            throw Checks.fail(name, "shape " + tensor.shape(), "expected " + normalized);
        }
        named.put(name, tensor);
    }

    Shape outputShape(Shape input) {
        long[] dims = Checks.notNull(input, "input").toArray();
        int lead = dims.length - normalized.rank();
        if (lead < 0 || !Arrays.equals(dims, lead, dims.length, normalized.toArray(), 0, normalized.rank())) {
            throw Checks.fail("x", "shape " + input, "expected the last axes to be " + normalized);
        }
        Checks.fitsInt(2 * Math.min(normalized.elements() + 64, 1L << 40), "twice the elements of a row");
        return input;
    }

    /** The tensor's normalised axes as rows. */
    Rows rows(Tensor tensor) {
        return Rows.of(tensor, normalized.rank());
    }

    void forward(Layer layer, Compute cpu, Tensor x, Tensor y) {
        CallTensors.forward(cpu, layer, x, y);
        NormForward call = new NormForward(this, x, y, cpu.parallelism());
        SingleCall.run(cpu, call, call.units());
    }

    Pass record(Layer layer, Compute cpu, Tensor x, Tensor y) {
        forward(layer, cpu, x, y);
        return new RecordedPass(layer, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                NormBackward call = new NormBackward(NormLayer.this, x, dy, dx, gradients);
                try (SingleCall running = SingleCall.open(cpu)) {
                    call.bind(running.workspace());
                    running.loop(call, call.units());
                    call.addGradients(running.workspace());
                }
            }
        };
    }
}
