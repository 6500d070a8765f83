package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.reference.ReferenceDeltaRule;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** The gated delta rule is compared with its specification in double, and with computations in parts. */
@Tag("lanes")
class DeltaRuleProperties {
    private static final double U = 0x1p-24;

    @Property(tries = 150)
    void statesAndOutputsAreWithinTheBoundOfTheirSteps(
            @ForAll @IntRange(min = 1, max = 150) int tokens,
            @ForAll @IntRange(min = 1, max = 140) int depth,
            @ForAll boolean likeSigns,
            @ForAll long seed) {
        Case of = new Case(tokens, depth, likeSigns, seed);
        Case exact = of.copy();
        of.vectors(0, tokens);
        exact.requireBounds(of);
    }

    @Property(tries = 150)
    void vectorsScalarsAndAnyDivisionIntoCallsHaveTheSameBits(
            @ForAll @IntRange(min = 1, max = 40) int tokens,
            @ForAll @IntRange(min = 1, max = 140) int depth,
            @ForAll long seed) {
        Case whole = new Case(tokens, depth, false, seed);
        Case scalars = whole.copy();
        Case parts = whole.copy();
        whole.vectors(0, tokens);
        scalars.scalars();
        SplittableRandom random = new SplittableRandom(seed);
        for (int at = 0; at < tokens; ) {
            int count = random.nextInt(1, tokens - at + 1);
            parts.vectors(at, count);
            at += count;
        }
        assertTrue(Arrays.equals(whole.state, scalars.state) && Arrays.equals(whole.values, scalars.values));
        assertTrue(Arrays.equals(whole.state, parts.state) && Arrays.equals(whole.values, parts.values));
    }

    @Property(tries = 20)
    void onlyThePanelIsWritten(@ForAll @IntRange(min = 1, max = 60) int depth, @ForAll long seed) {
        Case of = new Case(2, depth, false, seed);
        float[] before = of.state.clone();
        of.vectors(0, 2);
        for (int i = 0; i < Case.BEFORE; i++) {
            assertEquals(before[i], of.state[i]);
            assertEquals(before[before.length - 1 - i], of.state[of.state.length - 1 - i]);
        }
    }

    @Property(tries = 20)
    void aNumberThatIsNotFiniteStaysInItsColumn(@ForAll @IntRange(max = 31) int column, @ForAll long seed) {
        Case of = new Case(3, 20, false, seed);
        Case other = of.copy();
        other.values[column] = Float.NaN;
        of.vectors(0, 3);
        other.vectors(0, 3);
        for (int i = 0; i < of.values.length; i++) {
            assertEquals(i % PANEL == column ? Float.NaN : of.values[i], other.values[i]);
        }
    }

    private static final class Case {
        static final int BEFORE = 5;
        private static final int STRIDE_REST = 3;
        final int tokens;
        final int depth;
        final int stride;
        final float[] state;
        final float[] rows;
        final float[] values;
        final float[] gates;

        Case(int tokens, int depth, boolean likeSigns, long seed) {
            this(
                    tokens,
                    depth,
                    new float[depth * PANEL + 2 * BEFORE],
                    new float[tokens * (2 * depth + STRIDE_REST)],
                    new float[tokens * PANEL],
                    new float[tokens * DeltaRule.GATES]);
            SplittableRandom random = new SplittableRandom(seed);
            fill(state, likeSigns, random);
            fill(rows, likeSigns, random);
            fill(values, likeSigns, random);
            for (int token = 0; token < tokens; token++) {
                unit(token * stride + depth, depth);
                gates[token * 2] = random.nextInt(4) == 0 ? 1f : (float) random.nextDouble();
                gates[token * 2 + 1] = (float) random.nextDouble();
            }
        }

        private Case(int tokens, int depth, float[] state, float[] rows, float[] values, float[] gates) {
            this.tokens = tokens;
            this.depth = depth;
            this.state = state;
            this.rows = rows;
            this.values = values;
            this.gates = gates;
            stride = 2 * depth + STRIDE_REST;
        }

        Case copy() {
            return new Case(tokens, depth, state.clone(), rows.clone(), values.clone(), gates.clone());
        }

        private static void fill(float[] x, boolean likeSigns, SplittableRandom random) {
            for (int i = 0; i < x.length; i++) {
                double next = random.nextGaussian();
                x[i] = (float) (likeSigns ? Math.abs(next) : next);
            }
        }

        /** Divides numbers by the length of their vector, since keys have length 1. */
        private void unit(int at, int count) {
            double squares = 0;
            for (int i = at; i < at + count; i++) {
                squares += (double) rows[i] * rows[i];
            }
            for (int i = at; i < at + count && squares > 0; i++) {
                rows[i] = (float) (rows[i] / Math.sqrt(squares));
            }
        }

        void vectors(int first, int count) {
            float[] part = Arrays.copyOfRange(values, first * PANEL, (first + count) * PANEL);
            int at = first * stride;
            float[] of = Arrays.copyOfRange(gates, first * DeltaRule.GATES, (first + count) * DeltaRule.GATES);
            DeltaRule.vectors(count, state, BEFORE, depth, rows, at, at + depth, stride, part, of);
            System.arraycopy(part, 0, values, first * PANEL, part.length);
        }

        void scalars() {
            DeltaRule.scalars(tokens, state, BEFORE, depth, rows, 0, depth, stride, values, gates);
        }

        /**
         * Compares with the specification. A column of the state is a vector s. A step in f32 turns the computed s into
         * a column that differs by r from the exact step of the same s: {@code s^T k} is a chain of n multiply-adds
         * with an error of {@code n u |s|^T|k|}. The difference and its product with the rate round once each, so that
         * d has an error of {@code b a n u |s|^T|k| + 2 u |d|}. Each element rounds the decayed s and the sum once. The
         * exact step is linear, and {@code a (I - b k k^T)} does not lengthen a vector, since {@code 0 <= b <= 1} and
         * {@code |k|} is 1 except for rounding. Therefore only {@code |r|} adds to the error e of a column, and the
         * error of o is {@code |q| |e|} plus the error of its chain. Magnitudes are the specification's, so that
         * products of two errors are omitted. A factor of 1 + 1/64 covers these products and |k|.
         */
        void requireBounds(Case computed) {
            double[] s = new double[depth * PANEL];
            for (int i = 0; i < s.length; i++) {
                s[i] = state[BEFORE + i];
            }
            double[] errors = new double[PANEL];
            for (int token = 0; token < tokens; token++) {
                double[] before = s.clone();
                double a = gates[token * 2];
                double b = gates[token * 2 + 1];
                double[] q = doubles(rows, token * stride, depth);
                double[] k = doubles(rows, token * stride + depth, depth);
                double[] v = doubles(values, token * PANEL, PANEL);
                double[] o = new ReferenceDeltaRule(q, k, v, new double[] {a}, new double[] {b}).forward(s);
                for (int column = 0; column < PANEL; column++) {
                    double recalled = 0;
                    double magnitude = 0;
                    double squares = 0;
                    double output = 0;
                    for (int i = 0; i < depth; i++) {
                        recalled += before[i * PANEL + column] * k[i];
                        magnitude += Math.abs(before[i * PANEL + column] * k[i]);
                        output += Math.abs(s[i * PANEL + column] * q[i]);
                    }
                    double change = b * a * depth * U * magnitude + 2 * U * Math.abs(b * (v[column] - a * recalled));
                    for (int i = 0; i < depth; i++) {
                        double r = Math.abs(k[i]) * change
                                + U * Math.abs(a * before[i * PANEL + column])
                                + U * Math.abs(s[i * PANEL + column]);
                        squares += r * r;
                    }
                    errors[column] = a * errors[column] + Math.sqrt(squares);
                    double most = length(q) * errors[column] + depth * U * output;
                    assertEquals(o[column], computed.values[token * PANEL + column], slack(most), "token " + token);
                }
            }
            for (int column = 0; column < PANEL; column++) {
                double squares = 0;
                for (int i = 0; i < depth; i++) {
                    double off = s[i * PANEL + column] - computed.state[BEFORE + i * PANEL + column];
                    squares += off * off;
                }
                assertTrue(Math.sqrt(squares) <= slack(errors[column]), "state");
            }
            assertArrayEquals(rows, computed.rows);
        }

        /** Returns the bound with a margin. The last term covers the underflow of sums. */
        private static double slack(double bound) {
            return bound * (1 + 1.0 / 64) + 1e-40;
        }

        private static double length(double[] x) {
            return Math.sqrt(Arrays.stream(x).map(each -> each * each).sum());
        }

        private static double[] doubles(float[] x, int at, int count) {
            double[] result = new double[count];
            Arrays.setAll(result, i -> x[at + i]);
            return result;
        }
    }
}
