package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.compute.Workspace;
import io.multihead.internal.Checks;
import io.multihead.tensor.Tensor;

/**
 * Scaled dot-product attention, {@code softmax(scale * Q K^T + mask) V} (Vaswani et al. 2017, equation 1).
 *
 * <p>Shapes, which any strides may lay out, so that {@code (batch, tokens, heads, dim)} is a {@link Tensor#permute} away:
 *
 * <ul>
 *   <li>query {@code [batch, queryHeads, queries, headDim]}
 *   <li>key {@code [batch, keyHeads, keys, headDim]}
 *   <li>value {@code [batch, keyHeads, keys, valueDim]}
 *   <li>output {@code [batch, queryHeads, queries, valueDim]}
 * </ul>
 *
 * <p>{@code queryHeads} is a multiple of {@code keyHeads}; query head {@code h} uses key head
 * {@code h / (queryHeads / keyHeads)} (grouped-query attention, Ainslie et al. 2023). Any element type may store any tensor;
 * scores, probabilities and sums are f32.
 *
 * <p>Without weights, keys pass in tiles under an online softmax (Dao et al. 2022) and no {@code queries x keys} matrix
 * exists: scratch is about 1.5 MiB a thread and up to 16 MiB of packed keys and values. With weights, two multiplications and a softmax between.
 *
 * <p>Thread-safe. Results have the same bits for any number of threads, whatever else is in the batch, however the queries are
 * divided over calls, and wherever the memory lies. A warm call allocates nothing.
 */
public final class Attention {
    private static final int CALL = Workspace.ATTENTION + 1;

    private Attention() {}

    /**
     * Computes the attention output.
     *
     * @param cpu threads and scratch
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyHeads, keys, headDim]}
     * @param value {@code [batch, keyHeads, keys, valueDim]}
     * @param output {@code [batch, queryHeads, queries, valueDim]}, written
     * @param options mask and scale
     * @throws IllegalArgumentException if shapes do not fit, a mask does not broadcast, or the output overlaps an input;
     *     nothing has been written then
     */
    public static void forward(
            Compute cpu, Tensor query, Tensor key, Tensor value, Tensor output, AttentionOptions options) {
        Checks.notNull(output, "output");
        Workspace scratch = bind(cpu, query, key, value);
        AttentionCall call = scratch.job(CALL, AttentionCall::new);
        call.bindOutputs(output, null, null);
        run(cpu, scratch, call, options);
    }

    /**
     * Computes the attention output and, where asked for, log-sum-exp and weights.
     *
     * @param cpu threads and scratch
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyHeads, keys, headDim]}
     * @param value {@code [batch, keyHeads, keys, valueDim]}
     * @param outputs where the results go, written
     * @param options mask and scale
     * @throws IllegalArgumentException if shapes do not fit, a mask does not broadcast, or an output overlaps an input or
     *     another output; nothing has been written then
     */
    public static void forward(
            Compute cpu, Tensor query, Tensor key, Tensor value, AttentionOutputs outputs, AttentionOptions options) {
        Checks.notNull(outputs, "outputs");
        Workspace scratch = bind(cpu, query, key, value);
        AttentionCall call = scratch.job(CALL, AttentionCall::new);
        call.bindOutputs(outputs.output(), outputs.logSumExp(), outputs.weights());
        run(cpu, scratch, call, options);
    }

    private static Workspace bind(Compute cpu, Tensor query, Tensor key, Tensor value) {
        Checks.notNull(cpu, "cpu");
        AttentionChecks.requireInputs(cpu, query, key, value);
        Workspace scratch = cpu.take();
        scratch.job(CALL, AttentionCall::new).bindInputs(query, key, value);
        return scratch;
    }

    private static void run(Compute cpu, Workspace scratch, AttentionCall call, AttentionOptions options) {
        try {
            call.mask.bind(options.mask(), call.batches, call.heads, call.queries, call.keys);
            AttentionChecks.requireOutputs(cpu, call);
            call.setScale((float) options.scaleFor(call.headDim));
            cpu.run(call, call.divide(cpu.parallelism()), scratch);
        } finally {
            call.clear();
            cpu.giveBack(scratch);
        }
    }
}
