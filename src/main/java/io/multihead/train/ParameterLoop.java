package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The common part of optimizers: parameters with the same number of arrays of state each, and one pass over the rows of a parameter, its
 * gradient and its state. The arithmetic of an element is plain f32, which C2 vectorizes without changing a bit.
 */
abstract class ParameterLoop implements Optimizer {
    private static final FloatsKey VALUES = new FloatsKey();
    private static final FloatsKey GRADIENT = new FloatsKey();
    private static final String STEPS = "steps";
    /** A float counts exactly only to 2^24, so two floats hold a number of steps. */
    private static final int LOW_BITS = 20;

    private final List<String> kinds;
    private final Map<String, Tensor> parameters;
    private final String[] names;
    private final Tensor[] tensors;
    /** The states of each parameter, by the kind of state. */
    private final float[][][] states;

    private final long[] steps;
    private final Rows rows = new Rows();

    /**
     * Creates a state of zeros.
     *
     * @param kinds the names of a parameter's arrays of state
     */
    ParameterLoop(Map<String, Tensor> parameters, String... kinds) {
        this.kinds = List.of(kinds);
        this.parameters = Collections.unmodifiableMap(new LinkedHashMap<>(Checks.notNull(parameters, "parameters")));
        names = this.parameters.keySet().toArray(new String[0]);
        tensors = this.parameters.values().toArray(new Tensor[0]);
        states = new float[names.length][kinds.length][];
        steps = new long[names.length];
        for (int i = 0; i < names.length; i++) {
            String name = Checks.notNull(names[i], "name in parameters");
            TensorChecks.requireFloating(tensors[i], name);
            TensorChecks.requireOwnStorage(tensors[i], name);
            int elements = Checks.fitsInt(tensors[i].shape().elements(), "elements of " + name);
            for (int kind = 0; kind < kinds.length; kind++) {
                states[i][kind] = new float[elements];
            }
        }
    }

    final String[] names() {
        return names;
    }

    @Override
    public final void step(Compute cpu, Map<String, Tensor> gradients, double rate) {
        Checks.notNull(cpu, "cpu");
        Checks.finiteAtLeast(rate, 0, "rate");
        requireFit(cpu, gradients);
        for (int i = 0; i < names.length; i++) {
            Tensor own = gradients.get(names[i]);
            if (own != null) {
                steps[i]++;
                begin(i, steps[i], rate);
                run(cpu, i, own);
            }
        }
    }

    private void requireFit(Compute cpu, Map<String, Tensor> gradients) {
        int known = 0;
        Checks.notNull(gradients, "gradients");
        for (int i = 0; i < names.length; i++) {
            Tensor own = gradients.get(names[i]);
            if (own != null) {
                known++;
                TensorChecks.requireWritable(cpu, tensors[i], names[i]);
                TensorChecks.requireFloating(own, names[i]);
                TensorChecks.requireShape(own, names[i], tensors[i].shape());
                TensorChecks.requireAccess(cpu, own, names[i]);
                TensorChecks.requireApart(tensors[i], names[i], own, "its gradient");
            }
        }
        if (known < gradients.size()) {
            throw strange(gradients);
        }
    }

    private IllegalArgumentException strange(Map<String, Tensor> gradients) {
        for (Map.Entry<String, Tensor> entry : gradients.entrySet()) {
            Checks.notNull(entry.getValue(), "gradient of " + entry.getKey());
            if (!parameters.containsKey(entry.getKey())) {
                return Checks.fail("gradients", String.valueOf(entry.getKey()), "expected only names of parameters");
            }
        }
        return Checks.fail("gradients", "names", "expected names of parameters");
    }

    private void run(Compute cpu, int parameter, Tensor own) {
        Tensor tensor = tensors[parameter];
        rows.run(cpu, tensor, own, parameter);
    }

    /**
     * The pass over the rows of one parameter at a time. It is separate from the optimizer, which is public and should not inherit a method
     * that runs rows.
     */
    private final class Rows extends RowLoop {
        private final RowView values = new RowView();
        private final RowView gradient = new RowView();
        private int bound;
        private int length;

        void run(Compute cpu, Tensor tensor, Tensor own, int parameter) {
            bound = parameter;
            int axes = Math.min(1, tensor.rank());
            values.bind(tensor, axes);
            gradient.bind(own, axes);
            try {
                length = RowView.requireLength(values.length(), 1, names[parameter]);
                run(cpu, values.count(), length);
            } finally {
                values.clear();
                gradient.clear();
            }
        }

        @Override
        protected void rows(long first, long end, Workspace scratch) {
            float[] p = scratch.floats(VALUES, RowView.bufferLength(length));
            float[] g = scratch.floats(GRADIENT, RowView.bufferLength(length));
            for (long row = first; row < end; row++) {
                values.read(scratch.packer(), row, p);
                gradient.read(scratch.packer(), row, g);
                update(p, g, states[bound], (int) row * length, length);
                values.write(scratch.packer(), row, p);
            }
        }
    }

    /**
     * Computes the common values of a step's elements.
     *
     * @param parameter index of the parameter whose rows come next
     * @param step the number of steps of this parameter, including this one
     */
    abstract void begin(int parameter, long step, double rate);

    /**
     * Changes the elements of a row.
     *
     * @param p the elements of the parameter, changed
     * @param g the elements of the gradient
     * @param state arrays of state by kind, changed from index {@code at} on
     */
    abstract void update(float[] p, float[] g, float[][] state, int at, int count);

    @Override
    public final Map<String, Tensor> state() {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < names.length; i++) {
            Shape shape = tensors[i].shape();
            for (int kind = 0; kind < kinds.size(); kind++) {
                float[] own = states[i][kind];
                Tensor flat = Tensor.of(own);
                state.put(kinds.get(kind) + "." + names[i], Tensor.view(flat.memory(), flat.dtype(), shape));
            }
        }
        float[] counts = new float[2 * names.length];
        for (int i = 0; i < names.length; i++) {
            counts[2 * i] = steps[i] >>> LOW_BITS;
            counts[2 * i + 1] = steps[i] & (1 << LOW_BITS) - 1;
        }
        state.put(STEPS, Tensor.of(counts, names.length, 2));
        return Collections.unmodifiableMap(state);
    }

    @Override
    public final void restore(Map<String, Tensor> state) {
        Map<String, Tensor> own = state();
        if (!own.keySet().equals(Checks.notNull(state, "state").keySet())) {
            throw Checks.fail("state", "names " + state.keySet(), "expected " + own.keySet());
        }
        own.forEach((name, tensor) -> {
            Tensor saved = saved(state, name);
            TensorChecks.requireShape(saved, name, tensor.shape());
            if (saved.dtype() != tensor.dtype()) {
                throw Checks.fail(name, String.valueOf(saved.dtype()), "expected " + tensor.dtype());
            }
        });
        float[] counts = saved(state, STEPS).toArray();
        own.forEach((name, tensor) -> saved(state, name).copyTo(tensor));
        for (int i = 0; i < names.length; i++) {
            steps[i] = ((long) counts[2 * i] << LOW_BITS) + (long) counts[2 * i + 1];
        }
    }

    private static Tensor saved(Map<String, Tensor> state, String name) {
        return Checks.notNull(state.get(name), name);
    }
}
