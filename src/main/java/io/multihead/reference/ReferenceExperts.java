package io.multihead.reference;

import io.multihead.internal.base.Checks;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A mixture of experts as plain loops in {@code double}: token by token, expert by expert.
 *
 * @param router the projection from a state to one logit for each expert
 * @param rule the choice of experts and their factors
 * @param experts the networks
 * @param shared a network whose result is added for every token, or null
 */
public record ReferenceExperts(
        ReferenceTransformer.Linear router,
        Rule rule,
        List<? extends ReferenceTransformer.Rows> experts,
        ReferenceTransformer.@Nullable Rows shared)
        implements ReferenceTransformer.Rows {
    /** Checks the parts. */
    public ReferenceExperts {
        Checks.notNull(router, "router");
        Checks.notNull(rule, "rule");
        experts = Checks.noNulls(experts, "experts");
        Checks.length(experts.size(), router.outputs(), "experts", "one per logit of the router");
        if (rule.used < 1 || rule.used > experts.size()) {
            throw Checks.fail("rule", rule.used + " experts of a token", "expected 1 to " + experts.size());
        }
        if (rule.bias != null) {
            Checks.length(rule.bias.length, experts.size(), "rule", "one addend per expert");
        }
    }

    /**
     * The choice of experts.
     *
     * @param used the number of experts of a token
     * @param sigmoid whether scores are sigmoids of logits; otherwise they are the softmax of
     *     logits
     * @param normalized whether factors are divided by their sum
     * @param scale the number by which factors are multiplied
     * @param bias numbers that are added to scores only for the choice, or null
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Rule(int used, boolean sigmoid, boolean normalized, double scale, double @Nullable [] bias) {
        /** Checks the number of experts. */
        public Rule {
            Checks.atLeast(used, 1, "used");
        }

        /**
         * Returns the factor of each expert.
         *
         * @param logits the logits of one token
         * @return the factors, 0 for experts that are not chosen
         */
        public double[] factors(double... logits) {
            if (Checks.notNull(logits, "logits").length < used) {
                throw Checks.fail("logits", logits.length + " of experts", "expected at least " + used);
            }
            if (bias != null) {
                Checks.length(logits.length, bias.length, "logits", "one per addend of bias");
            }
            double[] scores = scores(logits);
            double[] keys = keys(logits, scores);
            int[] chosen = IntStream.range(0, logits.length)
                    .boxed()
                    .sorted(Comparator.comparingDouble((Integer i) -> -keys[i]).thenComparing(i -> i))
                    .limit(used)
                    .mapToInt(Integer::intValue)
                    .toArray();
            double sum = IntStream.of(chosen).mapToDouble(i -> scores[i]).sum();
            double[] factors = new double[logits.length];
            for (int expert : chosen) {
                factors[expert] = scale * scores[expert] / (normalized ? sum : 1);
            }
            return factors;
        }

        private double[] scores(double... logits) {
            double largest = IntStream.range(0, logits.length)
                    .mapToDouble(i -> logits[i])
                    .max()
                    .orElse(0);
            double[] scores = new double[logits.length];
            double sum = 0;
            for (int i = 0; i < scores.length; i++) {
                scores[i] = sigmoid ? 1 / (1 + Math.exp(-logits[i])) : Math.exp(logits[i] - largest);
                sum += scores[i];
            }
            for (int i = 0; i < scores.length && !sigmoid; i++) {
                scores[i] /= sum;
            }
            return scores;
        }

        /** Returns the numbers that determine the choice. Without a bias these are the logits, since scores have the same order. */
        private double[] keys(double[] logits, double[] scores) {
            double[] keys = logits.clone();
            for (int i = 0; bias != null && i < keys.length; i++) {
                keys[i] = scores[i] + bias[i];
            }
            return keys;
        }

        /** Returns the distance between the last chosen expert and the first expert that is not chosen; infinite if all are chosen. */
        double margin(double... logits) {
            double[] keys = keys(logits, scores(logits));
            Arrays.sort(keys);
            int first = keys.length - used;
            return first == 0 ? Double.POSITIVE_INFINITY : keys[first] - keys[first - 1];
        }
    }

    /**
     * A network whose result for each token is multiplied by the sigmoid of a weighted sum of its input.
     *
     * @param weights the weights of the sum, one for each element of a row
     * @param network the network
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record TokenGate(double[] weights, ReferenceTransformer.Rows network) implements ReferenceTransformer.Rows {
        /** Checks the parts. */
        public TokenGate {
            Checks.atLeast(Checks.notNull(weights, "weights").length, 1, "weights");
            Checks.notNull(network, "network");
        }

        @Override
        public double[] of(double[] x) {
            double[] y = network.of(Checks.notNull(x, "x"));
            if (y.length != x.length || y.length % weights.length != 0) {
                throw Checks.fail("x", x.length + " elements", "expected rows of " + weights.length);
            }
            for (int at = 0; at < y.length; at += weights.length) {
                double sum = 0;
                for (int i = 0; i < weights.length; i++) {
                    sum += weights[i] * x[at + i];
                }
                for (int i = at; i < at + weights.length; i++) {
                    y[i] /= 1 + Math.exp(-sum);
                }
            }
            return y;
        }
    }

    @Override
    public double[] of(double[] x) {
        int dim = router.inputs();
        double[] y = new double[Checks.notNull(x, "x").length];
        for (int at = 0; at < x.length; at += dim) {
            double[] row = Arrays.copyOfRange(x, at, at + dim);
            double[] factors = rule.factors(router.of(row));
            for (int expert = 0; expert < factors.length; expert++) {
                if (factors[expert] != 0) {
                    add(y, at, factors[expert], experts.get(expert).of(row));
                }
            }
            if (shared != null) {
                add(y, at, 1, shared.of(row));
            }
        }
        return y;
    }

    private static void add(double[] y, int at, double factor, double... row) {
        for (int i = 0; i < row.length; i++) {
            y[at + i] += factor * row[i];
        }
    }

    /**
     * Returns the smallest distance between a chosen and an unchosen expert, in logits or, with a bias, in scores. Smaller rounding errors do
     * not change a choice.
     *
     * @param x rows
     * @return the margin; infinite if all experts are chosen
     */
    public double margin(double... x) {
        int dim = router.inputs();
        double margin = Double.POSITIVE_INFINITY;
        for (int at = 0; at < Checks.notNull(x, "x").length; at += dim) {
            double[] row = Arrays.copyOfRange(x, at, at + dim);
            margin = Math.min(margin, rule.margin(router.of(row)));
        }
        return margin;
    }
}
