package io.multihead.demo.train;

import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), in PyTorch's order of operations: decay, moments,
 * step.
 */
public final class AdamW implements Optimizer {
    private static final double BETA1 = 0.9;
    private static final double BETA2 = 0.999;
    private static final double EPSILON = 1e-8;
    private static final String STEP = "step";

    private final double decay;
    private final Predicate<String> decays;
    private final Map<String, float[]> first = new LinkedHashMap<>();
    private final Map<String, float[]> second = new LinkedHashMap<>();
    private final Map<String, long[]> shapes = new LinkedHashMap<>();
    private long steps;

    /**
     * An optimiser without memory of earlier steps.
     *
     * @param parameters what it will change
     * @param decay how much of a parameter each step takes away, times the learning rate
     * @param decays which parameters decay, by name: usually not biases and norms
     */
    public AdamW(Map<String, Tensor> parameters, double decay, Predicate<String> decays) {
        this.decay = decay;
        this.decays = decays;
        parameters.forEach((name, tensor) -> {
            first.put(name, new float[(int) tensor.shape().elements()]);
            second.put(name, new float[(int) tensor.shape().elements()]);
            shapes.put(name, tensor.shape().toArray());
        });
    }

    @Override
    public void step(Map<String, Tensor> parameters, Map<String, Tensor> gradients, double rate) {
        steps++;
        float correction1 = (float) (rate / (1 - Math.pow(BETA1, steps)));
        float correction2 = (float) (1 / Math.sqrt(1 - Math.pow(BETA2, steps)));
        parameters.forEach((name, parameter) -> {
            Tensor gradient = gradients.get(name);
            if (gradient == null) {
                return; // frozen
            }
            float kept = decays.test(name) ? (float) (1 - rate * decay) : 1f;
            float[] values = parameter.toArray();
            update(values, gradient.toArray(), first.get(name), second.get(name), new float[] {
                kept, correction1, correction2
            });
            Optimizer.write(values, parameter);
        });
    }

    private static void update(float[] p, float[] g, float[] m, float[] v, float... factors) {
        float kept = factors[0];
        float rate = factors[1];
        float root = factors[2];
        for (int i = 0; i < p.length; i++) {
            m[i] = (float) BETA1 * m[i] + (float) (1 - BETA1) * g[i];
            v[i] = (float) BETA2 * v[i] + (float) (1 - BETA2) * g[i] * g[i];
            p[i] = kept * p[i] - rate * m[i] / ((float) Math.sqrt(v[i]) * root + (float) EPSILON);
        }
    }

    @Override
    public Map<String, Tensor> state() {
        Map<String, Tensor> state = new LinkedHashMap<>();
        first.forEach((name, m) -> state.put("first." + name, Tensor.of(m.clone(), shapes.get(name))));
        second.forEach((name, v) -> state.put("second." + name, Tensor.of(v.clone(), shapes.get(name))));
        // two halves: a float counts exactly to 2^24 only
        state.put(STEP, Tensor.of(new float[] {steps >>> 20, steps & 0xfffff}, 2));
        return state;
    }

    @Override
    public void restore(Map<String, Tensor> state) {
        first.replaceAll((name, m) -> state.get("first." + name).toArray());
        second.replaceAll((name, v) -> state.get("second." + name).toArray());
        steps = ((long) state.get(STEP).get(0) << 20) + (long) state.get(STEP).get(1);
    }
}
