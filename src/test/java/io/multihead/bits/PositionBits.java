package io.multihead.bits;

import io.multihead.position.Alibi;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.position.SinusoidalPositions;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;

/** Rotary embeddings with every scaling and pairing, slopes of linear biases, and sinusoidal encodings. */
final class PositionBits {
    private PositionBits() {}

    static void run(Bits bits) {
        RopeScaling[] scalings = {
            RopeScaling.NONE,
            new RopeScaling.Linear(4),
            new RopeScaling.NtkAware(8),
            RopeScaling.Yarn.of(4, 64),
            RopeScaling.Yarn.of(16, 4096).withBetas(20, 2).withAttentionFactor(1.25),
            new RopeScaling.Llama3(8, 1, 4, 8192)
        };
        int kind = 0;
        for (RopeScaling scaling : scalings) {
            for (Rope.Pairing pairing : Rope.Pairing.values()) {
                for (int dims : new int[] {2, 10, 40}) {
                    Rope.Config config =
                            Rope.Config.of(dims).withPairing(pairing).withScaling(scaling);
                    rotate(bits, Rope.of(kind % 5 == 4 ? config.withTheta(500_000) : config), kind++);
                }
            }
        }
        for (int heads = 1; heads <= 13; heads += 3) {
            bits.add("slopes " + heads, Tensor.of(Alibi.slopes(heads)));
        }
        for (int i = 0; i < 8; i++) {
            Tensor to = bits.normal(Bits.floating(i), Bits.layout(i), 2, 30, 17 + i);
            SinusoidalPositions.add(bits.cpu, to, 1000L * i);
            bits.add("sinusoidal, added", to);
            SinusoidalPositions.fill(bits.cpu, to, i);
            bits.add("sinusoidal", to);
        }
    }

    private static void rotate(Bits bits, Rope rope, int kind) {
        Tensor x = bits.normal(Bits.floating(kind), Bits.layout(kind), 2, 3, 40, 41);
        Tensor y = bits.empty(Bits.floating(kind / 4), Bits.layout(kind / 2), 2, 3, 40, 41);
        rope.apply(bits.cpu, x, y, 100L * kind);
        bits.add("rope " + kind, y);
        rope.applyInverse(bits.cpu, x, y, 3);
        bits.add("inverse " + kind, y);
        long[] positions = new long[40];
        for (int i = 0; i < positions.length; i++) {
            positions[i] = i % 7 == 3 ? 1L << i : bits.random.nextInt(5000);
        }
        rope.apply(bits.cpu, x, y, positions);
        bits.add("positions " + kind, y);
        Tensor inPlace = bits.normal(DType.F32, Bits.layout(kind), 1, 1, 40, 41);
        rope.applyInverse(bits.cpu, inPlace, inPlace, positions);
        bits.add("in place " + kind, inPlace);
        float[] row = bits.normal(50).toArray();
        rope.apply(row, 7, 12_345);
        bits.add("row " + kind, Tensor.of(row));
    }
}
