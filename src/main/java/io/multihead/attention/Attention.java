package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.ScoreFunction;
import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.attention.backward.BackwardCall;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Scaled dot-product attention, {@code softmax(scale * Q K^T + mask) V} (Vaswani et al. 2017, equation 1).
 *
 * <p>Tensors have the following shapes and any strides. {@link Tensor#permute} returns views in this order for tensors {@code (batch,
 * tokens, heads, dim)}:
 *
 * <ul>
 *   <li>query {@code [batch, queryHeads, queries, headDim]}
 *   <li>key {@code [batch, keyValueHeads, keys, headDim]}
 *   <li>value {@code [batch, keyValueHeads, keys, valueDim]}
 *   <li>output {@code [batch, queryHeads, queries, valueDim]}
 * </ul>
 *
 * <p>{@code queryHeads} is a multiple of {@code keyValueHeads}; query head {@code h} uses key head {@code h / (queryHeads / keyValueHeads)}
 * (grouped-query attention, Ainslie et al. 2023). Each tensor may have any element type; scores, probabilities and sums are f32. {@code
 * headDim} and {@code valueDim} are at most 8,388,576, and at most 3,947,576 for gradients.
 *
 * <p>Without weights, keys are processed in blocks with an online softmax (Dao et al. 2022) and no {@code queries x keys} matrix
 * exists: scratch is about 1.5 MiB per thread and up to 16 MiB of packed keys and values. With weights or scores, all scores of up
 * to 192 query rows are held between two matrix multiplications.
 *
 * <p>Infinite and NaN values affect exactly the rows that see their key. An infinite value stays infinite in these rows unless its weight
 * is too small for f32. Weighted values are summed before the sum is divided by the denominator of the softmax. Therefore the output is
 * infinite where a sum of {@code e^(s - max) |v|} exceeds the largest f32, even if the quotient is finite.
 *
 * <p>Thread-safe. Results have the same bits for any number of threads, in any batch, in any division of the queries into calls, and in heap or
 * native memory. Only dropout depends on the index of a query within its call. A warm call allocates nothing, unless an executor provides the
 * threads, because each task for the executor is an object.
 */
public final class Attention {
    private static final ScratchKey<ModifiableForward> FORWARD = ScratchKey.ofWorker(ModifiableForward::new);
    private static final ScratchKey<BackwardCall> BACKWARD = ScratchKey.of(BackwardCall::new);

    private Attention() {}

    /**
     * Computes the attention output.
     *
     * @param cpu threads and scratch
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyValueHeads, keys, headDim]}
     * @param value {@code [batch, keyValueHeads, keys, valueDim]}
     * @param output {@code [batch, queryHeads, queries, valueDim]}, written
     * @param options mask and scale
     * @throws IllegalArgumentException if shapes do not fit, a mask does not broadcast, or the output overlaps an input;
     *     nothing is written
     */
    public static void forward(
            Compute cpu, Tensor query, Tensor key, Tensor value, Tensor output, AttentionOptions options) {
        Checks.notNull(output, "output");
        Checks.notNull(cpu, "cpu");
        AttentionChecks.requireInputs(query, key, value);
        try (ModifiableForward call = Operation.open(cpu, FORWARD)) {
            call.bind(query, key, value);
            call.bindOutputs(output, null, null);
            run(cpu, call, options);
        }
    }

    /**
     * Computes the attention output and, on request, log-sum-exp, weights, and scores at a stage that the caller chooses.
     *
     * @param cpu threads and scratch
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyValueHeads, keys, headDim]}
     * @param value {@code [batch, keyValueHeads, keys, valueDim]}
     * @param outputs the tensors of the results, written
     * @param options mask and scale
     * @throws IllegalArgumentException if shapes do not fit, a mask does not broadcast, or an output overlaps an input or
     *     another output; nothing is written
     */
    public static void forward(
            Compute cpu, Tensor query, Tensor key, Tensor value, AttentionOutputs outputs, AttentionOptions options) {
        Checks.notNull(outputs, "outputs");
        Checks.notNull(cpu, "cpu");
        AttentionChecks.requireInputs(query, key, value);
        try (ModifiableForward call = Operation.open(cpu, FORWARD)) {
            call.bind(query, key, value);
            bindOutputs(call, outputs);
            run(cpu, call, options);
        }
    }

    /**
     * Computes attention over sequences of any lengths, for example in a cache: a prefill, a chunk of a prefill, or a decode
     * step.
     *
     * @param cpu threads and scratch
     * @param query {@code [sequences, queryHeads, queries, headDim]}: the same number of new tokens for each sequence
     * @param keyValues keys and values of the same number of sequences
     * @param outputs {@code [sequences, queryHeads, queries, ...]}, written
     * @param options mask and scale; if sequences differ, tensors of the mask and weights have {@link KeyValueView#maxKeys}
     *     keys, and each sequence uses the first ones
     * @throws IllegalArgumentException if shapes do not fit, a mask does not broadcast, or an output overlaps an input or
     *     another output; nothing is written
     */
    public static void forward(
            Compute cpu, Tensor query, KeyValueView keyValues, AttentionOutputs outputs, AttentionOptions options) {
        forwardView(cpu, query, null, keyValues, outputs, options);
    }

    /**
     * Computes attention over packed sequences, with any number of new tokens for each.
     *
     * @param cpu threads and scratch
     * @param query {@code [1, queryHeads, tokens, headDim]}
     * @param queries the boundaries of the sequences among the tokens
     * @param keyValues keys and values of the same number of sequences
     * @param outputs {@code [1, queryHeads, tokens, ...]}, written; weights have {@link KeyValueView#maxKeys} keys
     * @param options mask and scale; tensors of the mask must broadcast over queries, and have {@link KeyValueView#maxKeys} keys or 1
     * @throws IllegalArgumentException if shapes do not fit, the sequences and the tensors have different numbers of tokens, a mask
     *     does not broadcast, or an output overlaps an input or another output; nothing is written
     */
    public static void forward(
            Compute cpu,
            Tensor query,
            PackedSequences queries,
            KeyValueView keyValues,
            AttentionOutputs outputs,
            AttentionOptions options) {
        forwardView(cpu, query, Checks.notNull(queries, "queries"), keyValues, outputs, options);
    }

    /**
     * Computes the gradients of a call of forward. The weights are computed again from log-sum-exp, tile by tile (Dao 2023, algorithm 2).
     * Therefore no {@code queries x keys} matrix exists, and scratch is linear in the length.
     *
     * @param cpu threads and scratch
     * @param pass the tensors that forward read and wrote
     * @param outputGradient {@code [batch, queryHeads, queries, valueDim]}: the loss's gradient with respect to the output
     * @param gradients the tensors of the gradients, written
     * @throws IllegalArgumentException if shapes do not fit, or a gradient overlaps another tensor; nothing is written
     */
    public static void backward(Compute cpu, AttentionPass pass, Tensor outputGradient, AttentionGradients gradients) {
        backward(cpu, pass, AttentionOutputs.of(Checks.notNull(outputGradient, "outputGradient")), gradients);
    }

    /**
     * Computes the gradients of a call of forward for a loss that also depends on log-sum-exp or weights.
     *
     * <p>All options of forward are supported except a modifier of scores. A score that the mask hides has gradient 0, even if its key or
     * value contains NaN or infinity. A query that sees no key has gradient 0, too. Tiles that a window or a block-sparse mask hides as a
     * whole are skipped. Results have the same bits for any number of threads. A warm call without a bias gradient allocates little, and
     * the amount does not grow with the shapes. Each thread's scratch holds the queries, output gradients and query gradients of a head
     * group, about {@code 16 headDim + 8 valueDim} bytes per query row, with headDim and valueDim rounded up to 32.
     *
     * @param cpu threads and scratch
     * @param pass the tensors that forward read and wrote, including the weights if their gradient is given
     * @param outputGradients the loss's gradients with respect to output, log-sum-exp and weights; the last two may be null, which means 0
     * @param gradients the tensors of the gradients, written
     * @throws IllegalArgumentException if shapes do not fit, or a gradient overlaps another tensor; nothing is written
     */
    public static void backward(
            Compute cpu, AttentionPass pass, AttentionOutputs outputGradients, AttentionGradients gradients) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(pass, "pass");
        Checks.notNull(outputGradients, "outputGradients");
        GradientChecks.require(cpu, pass, outputGradients, Checks.notNull(gradients, "gradients"));
        AttentionOptions options = pass.options();
        AttentionOutputs outputs = pass.outputs();
        try (BackwardCall call = Operation.open(cpu, BACKWARD)) {
            call.bind(pass.query(), pass.key(), pass.value(), gradients.key(), gradients.value(), gradients.bias());
            call.bindSinks(gradients.sinks());
            call.saved().bind(pass.query(), outputs.output(), outputs.logSumExp(), outputs.weights());
            call.gradients()
                    .bind(
                            gradients.query(),
                            outputGradients.output(),
                            outputGradients.logSumExp(),
                            outputGradients.weights());
            bindMask(options, call.mask(), call.problem());
            bindOptions(options, call.mask(), call.problem(), null);
            call.run();
        }
    }

    /** Computes the states of the splits of the keys; {@link AttentionSplits} documents the states. */
    static void forwardStates(
            Compute cpu, Tensor query, KeyValueView keyValues, Tensor states, AttentionOptions options) {
        KeyValueSource source = keyValues.source();
        AttentionChecks.requireQuery(query, source, null);
        try (ModifiableForward call = Operation.open(cpu, FORWARD)) {
            call.bind(query, source, null);
            call.bindStates(states);
            bindInputs(cpu, call, options);
            AttentionChecks.requireStates(cpu, states, call);
            runBound(call, options);
        }
    }

    private static void bindOutputs(ModifiableForward call, AttentionOutputs outputs) {
        call.bindOutputs(outputs.output(), outputs.logSumExp(), outputs.weights());
        AttentionScores scores = outputs.scores();
        if (scores != null) {
            call.bindScores(scores.tensor(), scores.stage().stage());
        }
    }

    private static void forwardView(
            Compute cpu,
            Tensor query,
            @Nullable PackedSequences queries,
            KeyValueView keyValues,
            AttentionOutputs outputs,
            AttentionOptions options) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(outputs, "outputs");
        KeyValueSource source = Checks.notNull(keyValues, "keyValues").source();
        AttentionChecks.requireQuery(query, source, queries);
        try (ModifiableForward call = Operation.open(cpu, FORWARD)) {
            call.bind(query, source, queries == null ? null : queries.sharedOffsets());
            bindOutputs(call, outputs);
            run(cpu, call, options);
        }
    }

    private static void run(Compute cpu, ModifiableForward call, AttentionOptions options) {
        bindInputs(cpu, call, options);
        AttentionChecks.requireOutputs(cpu, call);
        runBound(call, options);
    }

    /** Binds the options of a call whose tensors and mask are bound and checked, and runs the call. */
    private static void runBound(ModifiableForward call, AttentionOptions options) {
        bindOptions(
                options,
                call.mask(),
                call.problem(),
                call.adapt(options.scores().modifier()));
        call.run();
    }

    /** Binds the mask. Checks the options, and whether all threads may read the call's inputs. */
    private static void bindInputs(Compute cpu, ModifiableForward call, AttentionOptions options) {
        AttentionProblem problem = call.problem();
        bindMask(Checks.notNull(options, "options"), call.mask(), problem);
        for (int sequence = 0; sequence < problem.sequences(); sequence++) {
            call.mask().requireLengths(sequence, call.source().keys(sequence));
        }
        options.scores().requireHeads(problem.heads());
        AttentionChecks.requireAccess(cpu, call);
    }

    private static void bindMask(AttentionOptions options, BoundMask mask, AttentionProblem problem) {
        mask.bind(options.mask().parts(), problem.sequences(), problem.heads(), problem.queries(), problem.keys());
    }

    /** Sets the transforms of scores and weights; the mask is bound before. */
    private static void bindOptions(
            AttentionOptions options, BoundMask mask, AttentionProblem problem, @Nullable ScoreFunction modifier) {
        ScoreRule rule = problem.scores();
        ScoreOptions scores = options.scores();
        rule.bindScale((float) options.scaleFor(problem.headDim()), mask.hasBias());
        rule.bindTransforms(scores.softCap(), scores.sharedSlopes(), scores.sharedSinks(), modifier);
        rule.bindDropout(options.dropout().rate(), options.dropout().seed());
    }
}
