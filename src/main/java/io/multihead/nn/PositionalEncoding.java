package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.RowView;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.position.SinusoidalPositions;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Adds to each token the vector of the token's position: {@code y[..., t, :] = x[..., t, :] + p[t, :]}, from position 0. The vectors are a
 * trained table, as in BERT and GPT-2 (Devlin et al. 2019), or sinusoids (Vaswani et al. 2017, section 3.5). Rotary positions belong to
 * attention: {@link io.multihead.nn.attention.MultiHeadConfig#withRope}.
 *
 * <p>Numbers pass through f32. Results have the same bits for any number of threads. Thread safety is as documented in {@link Layer}. The
 * caller owns the table.
 */
public final class PositionalEncoding implements Layer {
    private static final String WEIGHT = "weight";

    /** Null for sinusoids. */
    private final @Nullable Tensor weight;

    private PositionalEncoding(@Nullable Tensor weight) {
        this.weight = weight;
    }

    /**
     * Returns a layer with this table.
     *
     * @param weight {@code [positions, dim]}, any floating-point type and strides
     * @return the layer, which reads the table and does not own it; a sequence has at most as many tokens as the table has
     *     positions
     * @throws IllegalArgumentException if the shape or element type does not fit
     */
    public static PositionalEncoding of(Tensor weight) {
        Embedding.requireTable(weight, "positions");
        return new PositionalEncoding(weight);
    }

    /**
     * {@return a layer with a new f32 table of normal numbers with a standard deviation of 0.02, the initialization of BERT
     * and GPT-2}
     *
     * @param arena owns the table; must stay open while the layer is used
     * @param positions the largest number of tokens of a sequence
     * @param dim elements of a token
     * @param seed any number; the same one gives the same table
     * @throws IllegalArgumentException if a size is below 1
     */
    public static PositionalEncoding initialize(Arena arena, long positions, long dim, long seed) {
        return of(Embedding.freshTable(arena, seed, 0.02, "positions", positions, dim));
    }

    /** {@return the layer of sinusoids, for tokens of any size and sequences of any length, without parameters} */
    public static PositionalEncoding sinusoidal() {
        return new PositionalEncoding(null);
    }

    @Override
    public Map<String, Tensor> parameters() {
        return weight == null ? Map.of() : Map.of(WEIGHT, weight);
    }

    @Override
    public Shape outputShape(Shape input) {
        int rank = Checks.notNull(input, "input").rank();
        if (weight == null) {
            if (rank < 2) {
                throw Checks.fail("x", "shape " + input, "expected [..., tokens, dim]");
            }
            RowView.requireLength(input.dim(-1), 1, "dim of x");
        } else if (rank < 2 || input.dim(-1) != weight.dim(1) || input.dim(-2) > weight.dim(0)) {
            throw Checks.fail(
                    "x",
                    "shape " + input,
                    "expected [..., tokens, " + weight.dim(1) + "] with at most " + weight.dim(0) + " tokens");
        }
        return input;
    }

    @Override
    public int independentAxes(Shape input) {
        return Math.max(0, Checks.notNull(input, "input").rank() - 2);
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, this, x, y);
        long tokens = x.dim(-2);
        try (TensorArena arena = TensorArena.ofCall(cpu)) {
            Tensor table;
            if (weight == null) {
                table = arena.f32(tokens, x.dim(-1));
                SinusoidalPositions.fill(cpu, table, 0);
            } else {
                table = weight.slice(0, 0, tokens);
            }
            TensorMath.add(cpu, x, table.broadcast(x.shape().toArray()), y);
        }
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        forward(cpu, x, y);
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                if (dx != null) {
                    dy.copyTo(dx);
                }
                Tensor gradient = gradients.get(WEIGHT);
                if (gradient != null) {
                    addAll(cpu, dy, gradient.slice(0, 0, dy.dim(-2)));
                }
            }
        };
    }

    /** Adds the rows of one sequence after the other, in row-major order. */
    private static void addAll(Compute cpu, Tensor sequences, Tensor to) {
        if (sequences.rank() == 2) {
            TensorMath.add(cpu, to, sequences, to);
            return;
        }
        for (long i = 0; i < sequences.dim(0); i++) {
            addAll(cpu, sequences.select(0, i), to);
        }
    }
}
