package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.reference.ReferenceStateSpace;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** The recurrence of Mamba-2 is compared with its specification in double, and with computations in parts. */
@Tag("lanes")
class StateSpaceProperties {
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
        assertArrayEquals(whole.state, scalars.state);
        assertArrayEquals(whole.values, scalars.values);
        assertArrayEquals(whole.state, parts.state);
        assertArrayEquals(whole.values, parts.values);
    }

    @Property(tries = 20)
    void onlyThePanelIsWritten(
            @ForAll @IntRange(min = 1, max = 60) int depth,
            @ForAll @IntRange(min = 1, max = 3) int tokens,
            @ForAll long seed) {
        Case of = new Case(tokens, depth, false, seed);
        float[] before = of.state.clone();
        of.vectors(0, tokens);
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
                gates[token * 2] = random.nextInt(4) == 0 ? 1f : (float) random.nextDouble();
                gates[token * 2 + 1] = (float) (3 * random.nextDouble());
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

        void vectors(int first, int count) {
            float[] part = Arrays.copyOfRange(values, first * PANEL, (first + count) * PANEL);
            int at = first * stride;
            float[] of = Arrays.copyOfRange(gates, first * DeltaRule.GATES, (first + count) * DeltaRule.GATES);
            StateSpace.vectors(count, state, BEFORE, depth, rows, at, at + depth, stride, part, of);
            System.arraycopy(part, 0, values, first * PANEL, part.length);
        }

        void scalars() {
            StateSpace.scalars(tokens, state, BEFORE, depth, rows, 0, depth, stride, values, gates);
        }

        /**
         * Compares with the specification. An element of the state with an error of e before a token has an error of
         * {@code a e + u |a s| + u |b r x| + u |s'|} after the token: the decayed element, {@code r x} and the sum
         * round once each. A result is a chain of n multiply-adds, with an error of {@code |c|^T e + n u |c|^T |s'|}.
         * Magnitudes are the specification's, so that products of two errors are omitted. A factor of 1 + 1/64 covers
         * these products.
         */
        void requireBounds(Case computed) {
            double[] s = new double[depth * PANEL];
            for (int i = 0; i < s.length; i++) {
                s[i] = state[BEFORE + i];
            }
            double[] errors = new double[s.length];
            for (int token = 0; token < tokens; token++) {
                double[] before = s.clone();
                double a = gates[token * 2];
                double rate = gates[token * 2 + 1];
                double[] c = doubles(rows, token * stride, depth);
                double[] b = doubles(rows, token * stride + depth, depth);
                double[] x = doubles(values, token * PANEL, PANEL);
                double[] y = new ReferenceStateSpace(x, b, c, new double[] {a}, new double[] {rate}).forward(s);
                for (int column = 0; column < PANEL; column++) {
                    double error = 0;
                    double magnitude = 0;
                    for (int i = 0; i < depth; i++) {
                        int at = i * PANEL + column;
                        errors[at] = a * errors[at]
                                + U * Math.abs(a * before[at])
                                + U * Math.abs(b[i] * rate * x[column])
                                + U * Math.abs(s[at]);
                        error += Math.abs(c[i]) * errors[at];
                        magnitude += Math.abs(c[i] * s[at]);
                    }
                    double most = error + depth * U * magnitude;
                    assertEquals(y[column], computed.values[token * PANEL + column], slack(most), "token " + token);
                }
            }
            for (int i = 0; i < s.length; i++) {
                double off = Math.abs(s[i] - computed.state[BEFORE + i]);
                assertTrue(off <= slack(errors[i]), "element " + i + " of the state");
            }
            assertArrayEquals(rows, computed.rows);
        }

        /** Returns the bound with a margin. The last term covers numbers that underflow. */
        private static double slack(double bound) {
            return bound * (1 + 1.0 / 64) + Float.MIN_NORMAL;
        }

        private static double[] doubles(float[] x, int at, int count) {
            double[] result = new double[count];
            Arrays.setAll(result, i -> x[at + i]);
            return result;
        }
    }
}
