package io.multihead.jmh.bench;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Fused multiply-adds in twelve independent chains, all operands in registers. A core needs as many chains as its units
 * times their latency, which is 8 to 10 on recent cores. Two more chains hide the cost of the loop, and more than
 * twelve leave too few of 16 registers.
 *
 * <p>Chains are {@code a = x * y + a}, in which the sum is the register that the instruction overwrites. {@code a = a *
 * x + y} overwrites {@code y}, which C2 then copies before every step.
 */
final class FmaChains {
    /** The number of vectors that a call multiplies and adds. */
    static final int VECTORS = 9_600_000;

    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;

    /** Factors that a call reads from memory, so that no product is a constant. */
    private static final float[] FACTORS = {0.5f, 1e-3f};

    private FmaChains() {}

    static float run() {
        FloatVector x = FloatVector.broadcast(SPECIES, FACTORS[0]);
        FloatVector y = FloatVector.broadcast(SPECIES, FACTORS[1]);
        // chains begin with different values, so that no compiler can merge two of them
        FloatVector a0 = FloatVector.zero(SPECIES);
        FloatVector a1 = a0.add(1f), a2 = a0.add(2f), a3 = a0.add(3f), a4 = a0.add(4f), a5 = a0.add(5f);
        FloatVector a6 = a0.add(6f), a7 = a0.add(7f), a8 = a0.add(8f), a9 = a0.add(9f);
        FloatVector a10 = a0.add(10f), a11 = a0.add(11f);
        for (int step = 0; step < VECTORS / 12; step++) {
            a0 = x.fma(y, a0);
            a1 = x.fma(y, a1);
            a2 = x.fma(y, a2);
            a3 = x.fma(y, a3);
            a4 = x.fma(y, a4);
            a5 = x.fma(y, a5);
            a6 = x.fma(y, a6);
            a7 = x.fma(y, a7);
            a8 = x.fma(y, a8);
            a9 = x.fma(y, a9);
            a10 = x.fma(y, a10);
            a11 = x.fma(y, a11);
        }
        FloatVector first = a0.add(a1).add(a2).add(a3);
        FloatVector second = a4.add(a5).add(a6).add(a7);
        return first.add(second).add(a8).add(a9).add(a10).add(a11).lane(0);
    }
}
