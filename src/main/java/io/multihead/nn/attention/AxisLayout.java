package io.multihead.nn.attention;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.Views;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The division of the axes of one call's tensors into batch, tokens and features.
 *
 * @param batch the batch axes; none for inputs without a batch
 * @param tokens the axes flattened into tokens, in this order
 */
record AxisLayout(List<Integer> batch, List<Integer> tokens) {

    /** Returns the division for a query of this shape, or fails with an error that names the query. */
    static AxisLayout of(MultiHeadConfig config, Shape query) {
        int rank = query.rank();
        if (!config.batchFirst()) {
            if (rank != 2 && rank != 3) {
                String features = ", " + config.embedDim() + "]";
                String expected = "expected [tokens, batch" + features + " or [tokens" + features;
                throw Checks.fail("query", "shape " + query, expected + ", as batchFirst is false");
            }
            return new AxisLayout(rank == 2 ? List.of() : List.of(1), List.of(0));
        }
        if (config.attentionAxes().isEmpty()) {
            if (rank < 2) {
                String features = ", " + config.embedDim() + "]";
                String expected = "expected [batch, tokens" + features + " or [tokens" + features;
                throw Checks.fail("query", "shape " + query, expected);
            }
            return rank == 2 ? new AxisLayout(List.of(), List.of(0)) : new AxisLayout(List.of(0), range(1, rank - 1));
        }
        List<Integer> batch = new ArrayList<>(range(0, rank - 1));
        if (!batch.containsAll(config.attentionAxes())) {
            String expected = "expected axes " + config.attentionAxes() + " to attend over, before the features";
            throw Checks.fail("query", "shape " + query, expected);
        }
        batch.removeAll(config.attentionAxes());
        return new AxisLayout(batch, config.attentionAxes());
    }

    /** Returns the shape of the output for a query of this shape, or fails with an error that names the query. */
    Shape output(MultiHeadConfig config, Shape query) {
        long[] expected = query.toArray();
        int lead = expected.length - 1;
        expected[lead] = config.embedDim();
        if (query.dim(lead) != expected[lead]) {
            throw TensorFaults.shape("query", query, Shape.of(expected));
        }
        long[] features = config.outputShape().toArray();
        long[] dims = Arrays.copyOf(expected, lead + features.length);
        System.arraycopy(features, 0, dims, lead, features.length);
        return Shape.of(dims);
    }

    /** Returns the number of axes before the features. */
    int leading() {
        return batch.size() + tokens.size();
    }

    long batch(Shape shape) {
        return product(shape, batch);
    }

    long tokens(Shape shape) {
        return product(shape, tokens);
    }

    /** Returns the shape of attention weights, of every head or averaged, with the extra keys among the keys. */
    Shape weights(MultiHeadConfig config, MultiHeadInputs inputs, boolean perHead) {
        MultiHeadInputs.Sequences sequences = inputs.sequences();
        long keys = sequences == null
                ? tokens(inputs.key().shape())
                : sequences.keys().maxLength();
        List<Long> dims = new ArrayList<>();
        if (!batch.isEmpty()) {
            dims.add(batch(inputs.query().shape()));
        }
        if (perHead) {
            dims.add((long) config.queryHeads());
        }
        dims.add(tokens(inputs.query().shape()));
        dims.add(keys + config.extraKeys());
        return Shape.of(dims.stream().mapToLong(Long::longValue).toArray());
    }

    /** Returns the view with batch axes first, then token axes, then the rest. */
    private Tensor inOrder(Tensor tensor) {
        int[] order = new int[tensor.rank()];
        for (int axis = 0; axis < order.length; axis++) {
            boolean isToken = axis >= batch.size() && axis < leading();
            order[axis] = axis < batch.size() ? batch.get(axis) : isToken ? tokens.get(axis - batch.size()) : axis;
        }
        return tensor.permute(order);
    }

    /** Returns whether {@link #grouped} returns a view of a tensor whose axes are {@link #inOrder}. */
    private boolean isView(Tensor ordered) {
        return Views.collapses(ordered, 0, batch.size())
                && Views.collapses(ordered, batch.size(), leading())
                && Views.collapses(ordered, leading(), ordered.rank());
    }

    /** Returns {@code [batch, tokens, features]}, a view of a tensor whose axes are {@link #inOrder}. */
    private Tensor grouped(Tensor ordered) {
        Shape shape = ordered.shape();
        return ordered.reshape(
                product(shape, 0, batch.size()),
                product(shape, batch.size(), leading()),
                product(shape, leading(), ordered.rank()));
    }

    /** Returns a tensor as {@code [batch, tokens, features]}: a view, or a copy where none exists. */
    Tensor group(TensorArena arena, Tensor tensor) {
        return read(target(arena, tensor, false));
    }

    /** Returns a tensor as {@code [batch, tokens, features]} whose tokens are the rows of one matrix: a view, or a copy. */
    Tensor rows(TensorArena arena, Tensor tensor) {
        return read(target(arena, tensor, true));
    }

    private static Tensor read(Target from) {
        if (from.ordered != null) {
            from.ordered.copyTo(from.grouped.reshape(from.ordered.shape().toArray()));
        }
        return from.grouped;
    }

    /**
     * A result {@code [batch, tokens, features]} that is written to a tensor of the caller, directly or from a temporary.
     *
     * @param grouped the tensor to which the result is written: a view of the caller's tensor, or a dense temporary
     * @param ordered the caller's tensor with its axes {@link #inOrder} if the result is a temporary, else null
     */
    record Target(Tensor grouped, @Nullable Tensor ordered) {
        /** Copies the result to the caller's tensor, unless it was already written there. */
        void finish() {
            if (ordered != null) {
                grouped.reshape(ordered.shape().toArray()).copyTo(ordered);
            }
        }
    }

    /**
     * Returns the tensor to which a result for the caller's tensor is written.
     *
     * @param asRows whether a view is allowed only if its tokens are the rows of one matrix
     */
    Target target(TensorArena arena, Tensor tensor, boolean asRows) {
        Tensor ordered = inOrder(tensor);
        if (isView(ordered) && (!asRows || Views.flattens(grouped(ordered)))) {
            return new Target(grouped(ordered), null);
        }
        return new Target(grouped(arena.f32(ordered.shape().toArray())), ordered);
    }

    private static long product(Shape shape, List<Integer> axes) {
        long product = 1;
        for (int axis : axes) {
            product = Math.multiplyExact(product, shape.dim(axis));
        }
        return product;
    }

    private static long product(Shape shape, int from, int to) {
        long product = 1;
        for (int axis = from; axis < to; axis++) {
            product = Math.multiplyExact(product, shape.dim(axis));
        }
        return product;
    }

    private static List<Integer> range(int from, int to) {
        return IntStream.range(from, to).boxed().toList();
    }
}
