package io.multihead.train;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), in the order of PyTorch's operations: decay, moments, step.
 * Here {@code g} is the gradient, and {@code t} the number of steps of this parameter:
 *
 * <pre>
 * m = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
 * p = (1 - rate decay) p - rate / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)
 * </pre>
 *
 * <p>Elements are computed in f32, factors in f64 and rounded once. A parameter of a narrower type is rounded after each step. The state has
 * 8 bytes per element, on the heap.
 */
public final class AdamW extends ParameterLoop {
    /**
     * The constants of the formula.
     *
     * @param beta1 decay of the first moment, 0 to below 1
     * @param beta2 decay of the second moment, 0 to below 1
     * @param epsilon added to the root of the second moment, at least 0
     * @param decay weight decay, at least 0: each step subtracts {@code rate decay} times the
     *     parameter
     * @param decays selects by name the parameters that decay, usually not biases and norms
     */
    public record Options(double beta1, double beta2, double epsilon, double decay, Predicate<String> decays) {
        /** PyTorch's defaults: 0.9, 0.999, 1e-8 and a weight decay of 0.01 for all parameters. */
        public static final Options DEFAULT = new Options(0.9, 0.999, 1e-8, 0.01, name -> true);

        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Options {
            requireBeta(beta1, "beta1");
            requireBeta(beta2, "beta2");
            Checks.finiteAtLeast(epsilon, 0, "epsilon");
            Checks.finiteAtLeast(decay, 0, "decay");
            Checks.notNull(decays, "decays");
        }

        private static void requireBeta(double beta, String name) {
            if (!(beta >= 0 && beta < 1)) {
                throw Checks.fail(name, String.valueOf(beta), "expected 0 to below 1");
            }
        }

        /**
         * {@return these options with other decays of the moments}
         *
         * @param newBeta1 decay of the first moment, 0 to below 1
         * @param newBeta2 decay of the second moment, 0 to below 1
         */
        public Options withBetas(double newBeta1, double newBeta2) {
            return new Options(newBeta1, newBeta2, epsilon, decay, decays);
        }

        /**
         * {@return these options with another epsilon}
         *
         * @param newEpsilon at least 0
         */
        public Options withEpsilon(double newEpsilon) {
            return new Options(beta1, beta2, newEpsilon, decay, decays);
        }

        /**
         * {@return these options with another weight decay}
         *
         * @param newDecay at least 0
         * @param newDecays selects by name the parameters that decay
         */
        public Options withDecay(double newDecay, Predicate<String> newDecays) {
            return new Options(beta1, beta2, epsilon, newDecay, newDecays);
        }
    }

    private final Options options;
    private final boolean[] decays;
    private final float beta1;
    private final float beta2;
    private final float rest1;
    private final float rest2;
    private final float epsilon;
    private float kept;
    private float factor;
    private float root;

    private AdamW(Map<String, Tensor> parameters, Options options) {
        super(parameters, "first", "second");
        this.options = options;
        decays = new boolean[names().length];
        for (int i = 0; i < decays.length; i++) {
            decays[i] = options.decays.test(names()[i]);
        }
        beta1 = (float) options.beta1;
        beta2 = (float) options.beta2;
        rest1 = (float) (1 - options.beta1);
        rest2 = (float) (1 - options.beta2);
        epsilon = (float) options.epsilon;
    }

    /**
     * {@return an optimizer without earlier steps}
     *
     * @param parameters the tensors that steps change, by name, such as {@link io.multihead.nn.Layer#parameters}; they must stay open
     * @param options the constants
     * @throws IllegalArgumentException if a parameter cannot be written, has integers, or has more than 2^31 elements
     */
    public static AdamW of(Map<String, Tensor> parameters, Options options) {
        return new AdamW(parameters, Checks.notNull(options, "options"));
    }

    @Override
    void begin(int parameter, long step, double rate) {
        kept = decays[parameter] ? (float) (1 - rate * options.decay) : 1f;
        factor = (float) (rate / (1 - StrictMath.pow(options.beta1, step)));
        root = (float) (1 / Math.sqrt(1 - StrictMath.pow(options.beta2, step)));
    }

    @Override
    void update(float[] p, float[] g, float[][] state, int at, int count) {
        float[] m = state[0];
        float[] v = state[1];
        for (int i = 0; i < count; i++) {
            float first = beta1 * m[at + i] + rest1 * g[i];
            float second = beta2 * v[at + i] + rest2 * g[i] * g[i];
            m[at + i] = first;
            v[at + i] = second;
            p[i] = kept * p[i] - factor * first / ((float) Math.sqrt(second) * root + epsilon);
        }
    }
}
