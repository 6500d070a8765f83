package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.internal.nn.RowView;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Rows of a table by token id, like PyTorch's {@code nn.Embedding}: {@code y_i = weight[ids_i]}.
 *
 * <p>Ids are an array, or the f32 tensor that a {@link Layer} takes: whole numbers, exact below 2^24. Their gradient is zero, since the
 * output is not differentiable with respect to them. An output head that shares the table, {@code Linear.of(weight, null)}, must be in the
 * same {@link Sequence} under the same prefix.
 *
 * <p>Thread-safe while no thread changes the table, which the caller owns. Numbers pass through f32. Results have the same bits for any
 * number of threads.
 */
public final class Embedding implements Layer {
    private static final String WEIGHT = "weight";
    /** Whole numbers below this limit are exact in f32. */
    private static final long MOST = 1L << 24;

    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey ADDED = new FloatsKey();

    private final Tensor weight;

    private Embedding(Tensor weight) {
        this.weight = weight;
    }

    /**
     * Returns an embedding that reads a table.
     *
     * @param weight {@code [vocabulary, dim]}, any floating-point type and strides
     * @return the embedding, which reads the table and does not own it
     * @throws IllegalArgumentException if the shape or element type does not fit
     */
    public static Embedding of(Tensor weight) {
        requireTable(weight, "vocabulary");
        return new Embedding(weight);
    }

    /** Fails unless a table has floating-point elements and rows that fit in a buffer. */
    static void requireTable(Tensor weight, String rows) {
        TensorChecks.requireFloating(weight, WEIGHT);
        if (weight.rank() != 2) {
            throw Checks.fail(WEIGHT, "shape " + weight.shape(), "expected [" + rows + ", dim]");
        }
        RowView.requireLength(weight.dim(1), 1, "dim of weight");
    }

    /**
     * {@return an embedding with a new f32 table from PyTorch's distribution: standard normal numbers, drawn with SplitMix64}
     *
     * @param arena owns the table; must stay open while the embedding is used
     * @param vocabulary the number of ids
     * @param dim elements of a row
     * @param seed any number; the same one gives the same table
     * @throws IllegalArgumentException if a size is below 1
     */
    public static Embedding initialize(Arena arena, long vocabulary, long dim, long seed) {
        return of(freshTable(arena, seed, 1, "vocabulary", vocabulary, dim));
    }

    /** Returns a table of normal numbers, or fails with an error that names its rows. */
    static Tensor freshTable(Arena arena, long seed, double deviation, String name, long rows, long dim) {
        Checks.atLeast(rows, 1, name);
        Checks.atLeast(dim, 1, "dim");
        RowView.requireLength(dim, 1, "dim");
        InitialTensors random = new InitialTensors(seed, Checks.notNull(arena, "arena"));
        return random.normal(deviation, Shape.of(rows, dim));
    }

    /** {@return the table under PyTorch's names; an unmodifiable map with {@code weight}, the same tensor object that was
     * given} */
    @Override
    public Map<String, Tensor> parameters() {
        return Map.of(WEIGHT, weight);
    }

    /**
     * Looks up the rows of ids.
     *
     * @param cpu threads and scratch
     * @param ids rows of the table, 0 to vocabulary - 1
     * @param y {@code [..., dim]} with as many rows as ids, row-major; written
     * @throws IllegalArgumentException if a shape or id does not fit or y overlaps the table; nothing is written
     */
    public void forward(Compute cpu, int[] ids, Tensor y) {
        int[] rows = require(ids, y, "y");
        new TensorChecks(cpu).reads(WEIGHT, weight, weight.shape()).writes("y", y, y.shape());
        look(cpu, rows, y);
    }

    private void look(Compute cpu, int[] rows, Tensor y) {
        RowView from = RowView.of(weight, 1);
        RowView to = RowView.of(y, 1);
        RowLoop.run(cpu, rows.length, (i, scratch) -> {
            float[] row = scratch.floats(ROW, RowView.bufferLength((int) from.length()));
            from.read(scratch.packer(), rows[(int) i], row);
            to.write(scratch.packer(), i, row);
        });
    }

    /**
     * Adds the gradient of the table in ascending order of i: {@code weightGradient[ids_i] += dy_i}, each addition rounded to f32 and to
     * the gradient's element type. Runs on the calling thread, since ids may repeat.
     *
     * @param cpu scratch
     * @param ids the rows that forward looked up
     * @param outputGradient {@code [..., dim]} with as many rows as ids
     * @param weightGradient a tensor of the table's shape, added to
     * @throws IllegalArgumentException if a shape or id does not fit or memory overlaps; nothing is written
     */
    public void backward(Compute cpu, int[] ids, Tensor outputGradient, Tensor weightGradient) {
        int[] rows = require(ids, outputGradient, "outputGradient");
        new TensorChecks(cpu)
                .reads(WEIGHT, weight, weight.shape())
                .reads("outputGradient", outputGradient, outputGradient.shape())
                .writes("weightGradient", weightGradient, weight.shape());
        add(cpu, rows, outputGradient, weightGradient);
    }

    private static void add(Compute cpu, int[] rows, Tensor outputGradient, Tensor weightGradient) {
        RowView from = RowView.of(outputGradient, 1);
        RowView to = RowView.of(weightGradient, 1);
        int length = (int) from.length();
        try (SingleCall call = SingleCall.open(cpu)) {
            Workspace scratch = call.workspace();
            float[] row = scratch.floats(ROW, RowView.bufferLength(length));
            float[] added = scratch.floats(ADDED, RowView.bufferLength(length));
            for (int i = 0; i < rows.length; i++) {
                to.read(scratch.packer(), rows[i], row);
                from.read(scratch.packer(), i, added);
                RowOps.add(row, 0, Lanes.roundUp(length, Lanes.PANEL), added, 0);
                to.write(scratch.packer(), rows[i], row);
            }
        }
    }

    @Override
    public Shape outputShape(Shape input) {
        int rank = Checks.notNull(input, "input").rank();
        long[] dims = Arrays.copyOf(input.toArray(), rank + 1);
        dims[rank] = weight.dim(1);
        return Shape.of(dims);
    }

    @Override
    public int independentAxes(Shape input) {
        return Checks.notNull(input, "input").rank();
    }

    /**
     * Looks up the rows of ids.
     *
     * @param cpu threads and scratch
     * @param x {@code [...]} f32, rows of the table
     * @param y {@code [..., dim]}, written
     * @throws IllegalArgumentException if a shape, type or id does not fit or memory overlaps; nothing is written
     */
    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, this, x, y);
        look(cpu, ids(x), y);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        LayerChecks.forward(cpu, this, x, y);
        int[] rows = ids(x);
        look(cpu, rows, y);
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                Tensor weightGradient = gradients.get(WEIGHT);
                if (weightGradient != null) {
                    add(cpu, rows, dy, weightGradient);
                }
                if (dx != null) {
                    dx.fill(0);
                }
            }
        };
    }

    private int[] ids(Tensor x) {
        if (x.dtype() != DType.F32) {
            throw Checks.fail("x", x.toString(), "expected ids in f32, which holds whole numbers below 2^24");
        }
        long most = Math.min(weight.dim(0), MOST);
        float[] numbers = x.toArray();
        int[] ids = new int[numbers.length];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = (int) numbers[i];
            if (ids[i] != numbers[i] || ids[i] < 0 || ids[i] >= most) {
                throw Checks.fail("x[" + i + "]", String.valueOf(numbers[i]), "expected an id, 0 to " + (most - 1));
            }
        }
        return ids;
    }

    /** Returns a copy of the ids, or fails unless each id is a row of the table and every row of a tensor has one id. */
    private int[] require(int[] ids, Tensor tensor, String name) {
        int[] rows = Checks.notNull(ids, "ids").clone();
        Shape shape = Checks.notNull(tensor, name).shape();
        long count = 1;
        for (int axis = 0; axis < shape.rank() - 1; axis++) {
            count *= shape.dim(axis);
        }
        if (shape.rank() < 1 || shape.dim(-1) != weight.dim(1) || count != rows.length) {
            throw Checks.fail(
                    name,
                    "shape " + shape,
                    "expected [..., " + weight.dim(1) + "] with " + rows.length + " rows, one per id");
        }
        return Checks.indices(rows, weight.dim(0), "ids");
    }
}
