package io.multihead.position;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.Tensor;

/**
 * Sinusoidal position encodings (Vaswani et al. 2017, "Attention is all you need", section 3.5): {@code p[t, 2i] = sin(t / 10000^(2i /
 * dim))} and {@code p[t, 2i + 1] = cos(t / 10000^(2i / dim))}. An odd {@code dim} ends with a sine.
 *
 * <p>Angles, sines and cosines are computed in {@code double} by {@link StrictMath}, with the same bits on every machine, and rounded
 * to f32. Results have the same bits for any number of threads. Stateless and thread-safe. The caller owns the tensors.
 */
public final class SinusoidalPositions {
    /** The number of positions, which a double holds exactly; {@link Rope} has the same limit. */
    private static final long POSITIONS = 1L << 53;

    private static final double BASE = 10_000;
    private static final FloatsKey ENCODING = new FloatsKey();
    private static final FloatsKey SUM = new FloatsKey();

    private SinusoidalPositions() {}

    /**
     * Writes the encodings.
     *
     * @param cpu threads and scratch
     * @param to {@code [..., tokens, dim]}, any floating-point type and strides; written
     * @param offset position of the first token, at least 0; all positions are below 2^53
     * @throws IllegalArgumentException if the tensor or the offset does not fit; nothing is written
     */
    public static void fill(Compute cpu, Tensor to, long offset) {
        run(cpu, to, offset, false);
    }

    /**
     * Adds the encodings.
     *
     * @param cpu threads and scratch
     * @param to {@code [..., tokens, dim]}, any floating-point type and strides; the encodings are added to it, with rounding to
     *     f32 and to its element type
     * @param offset position of the first token, at least 0; all positions are below 2^53
     * @throws IllegalArgumentException if the tensor or the offset does not fit; nothing is written
     */
    public static void add(Compute cpu, Tensor to, long offset) {
        run(cpu, to, offset, true);
    }

    private static void run(Compute cpu, Tensor to, long offset, boolean adds) {
        Checks.atLeast(offset, 0, "offset");
        if (Checks.notNull(to, "to").rank() < 2) {
            throw Checks.fail("to", "shape " + to.shape(), "expected [..., tokens, dim]");
        }
        int dim = RowView.requireLength(to.dim(-1), 1, "dim");
        new TensorChecks(cpu).writes("to", to, to.shape());
        RowView rows = RowView.of(to, 1);
        long tokens = to.dim(-2);
        if (offset > POSITIONS - tokens) {
            throw Checks.fail("offset", offset + " for " + tokens + " tokens", "expected positions below " + POSITIONS);
        }
        double[] rates = rates(dim);
        RowLoop.run(cpu, tokens, (token, scratch) -> {
            Packer packer = scratch.packer();
            float[] encoding = scratch.floats(ENCODING, RowView.bufferLength(dim));
            float[] sum = scratch.floats(SUM, RowView.bufferLength(dim));
            encode(encoding, rates, offset + token);
            for (long row = token; row < rows.count(); row += tokens) {
                if (adds) {
                    rows.read(packer, row, sum);
                    RowOps.add(sum, 0, Lanes.roundUp(dim, Lanes.PANEL), encoding, 0);
                    rows.write(packer, row, sum);
                } else {
                    rows.write(packer, row, encoding);
                }
            }
        });
    }

    /** Returns the frequency of each pair of elements. */
    private static double[] rates(int dim) {
        double[] rates = new double[(dim + 1) / 2];
        for (int pair = 0; pair < rates.length; pair++) {
            rates[pair] = StrictMath.pow(BASE, -2.0 * pair / dim);
        }
        return rates;
    }

    private static void encode(float[] row, double[] rates, long position) {
        for (int pair = 0; pair < rates.length; pair++) {
            double angle = position * rates[pair];
            row[2 * pair] = (float) StrictMath.sin(angle);
            row[2 * pair + 1] = (float) StrictMath.cos(angle);
        }
    }
}
