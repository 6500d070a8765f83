package io.multihead.demo.train;

import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;

/** Stochastic gradient descent with momentum (Polyak 1964), as PyTorch's without dampening: {@code v = mu v + g, p -= rate v}. */
public final class Sgd implements Optimizer {
    private final float momentum;
    private final Map<String, float[]> velocity = new LinkedHashMap<>();
    private final Map<String, long[]> shapes = new LinkedHashMap<>();

    /**
     * An optimiser at rest.
     *
     * @param parameters what it will change
     * @param momentum how much of the velocity each step keeps, 0 for none
     */
    public Sgd(Map<String, Tensor> parameters, double momentum) {
        this.momentum = (float) momentum;
        parameters.forEach((name, tensor) -> {
            velocity.put(name, new float[(int) tensor.shape().elements()]);
            shapes.put(name, tensor.shape().toArray());
        });
    }

    @Override
    public void step(Map<String, Tensor> parameters, Map<String, Tensor> gradients, double rate) {
        float step = (float) rate;
        parameters.forEach((name, parameter) -> {
            Tensor gradient = gradients.get(name);
            if (gradient == null) {
                return; // frozen
            }
            float[] p = parameter.toArray();
            float[] g = gradient.toArray();
            float[] v = velocity.get(name);
            for (int i = 0; i < p.length; i++) {
                v[i] = momentum * v[i] + g[i];
                p[i] -= step * v[i];
            }
            Optimizer.write(p, parameter);
        });
    }

    @Override
    public Map<String, Tensor> state() {
        Map<String, Tensor> state = new LinkedHashMap<>();
        velocity.forEach((name, v) -> state.put("velocity." + name, Tensor.of(v.clone(), shapes.get(name))));
        return state;
    }

    @Override
    public void restore(Map<String, Tensor> state) {
        velocity.replaceAll((name, v) -> state.get("velocity." + name).toArray());
    }
}
