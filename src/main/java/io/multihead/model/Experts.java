package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A mixture of experts: a {@link Router} chooses a few of many feed-forward networks for each token, and their results are added up with the
 * router's factors. A shared part may compute all tokens in addition.
 *
 * <p>Rows are gathered by expert, so that the weights of each expert are read once per call, and all products of a layer are one parallel loop.
 * The results of a token's experts are added in the order of the experts' indices, so the bits of the sum do not depend on the other tokens of
 * a call. Immutable and thread-safe; a warm call allocates nothing.
 */
public final class Experts implements Part {
    private final Router router;
    private final List<FeedForward> experts;
    private final @Nullable Part shared;
    private final @Nullable Norm norm;
    private final ExpertsLayout layout;
    private final Products up;
    private final Products down;

    /** The layers of all experts, the layers of each expert next to each other. */
    private record Products(List<PackedWeights> weights, List<GemmOptions> options) {
        static Products of(List<PackedLinear> layers) {
            return new Products(
                    layers.stream().map(PackedLinear::weights).toList(),
                    layers.stream().map(PackedLinear::options).toList());
        }
    }

    private Experts(Router router, List<FeedForward> experts, @Nullable Part shared, @Nullable Norm norm) {
        this.router = router;
        this.experts = experts;
        this.shared = shared;
        this.norm = norm;
        FeedForward first = experts.get(0);
        boolean normed = norm != null || router.norm() != null;
        layout = new ExpertsLayout(experts.size(), router.used(), first.dim(), first.layout(), normed);
        List<PackedLinear> ups = new ArrayList<>();
        List<PackedLinear> downs = new ArrayList<>();
        for (FeedForward expert : experts) {
            ups.addAll(expert.up().layers());
            downs.add(expert.down());
        }
        up = Products.of(ups);
        down = Products.of(downs);
    }

    /**
     * Returns a mixture.
     *
     * @param router the router, which chooses among the experts
     * @param experts the experts, one for each of the router's logits; they differ only in their weights
     * @return the part
     * @throws IllegalArgumentException if the number of experts differs from the number of logits, sizes or activations
     *     differ, or an expert has a gate of tokens
     */
    public static Experts of(Router router, List<FeedForward> experts) {
        List<FeedForward> all = Checks.noNulls(experts, "experts");
        Checks.length(all.size(), Checks.notNull(router, "router").experts(), "experts", "one per logit of the router");
        FeedForward first = all.get(0);
        if (router.logits().inputs() != first.dim()) {
            throw Checks.fail(
                    "router", router.logits().inputs() + " inputs", "expected " + first.dim() + ", as in the experts");
        }
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).hasTokenGate()) {
                throw Checks.fail(
                        "experts[" + i + "]", all.get(i).toString(), "expected networks without gates of tokens");
            }
            if (!all.get(i).isLike(first)) {
                throw Checks.fail("experts[" + i + "]", all.get(i).toString(), "expected " + first + ", as experts[0]");
            }
        }
        return new Experts(router, all, null, null);
    }

    /**
     * {@return this mixture with a part whose result is added for every token: like the shared experts of DeepSeek, or, with a gate for
     * each token ({@link FeedForward#withTokenGate}), of Qwen}
     *
     * @param part a part with the same number of elements, without attention; null for none
     * @throws IllegalArgumentException if it does not fit
     */
    public Experts withShared(@Nullable Part part) {
        if (part != null && (part.dim() != dim() || !part.states().isEmpty())) {
            throw Checks.fail(
                    "part",
                    "states of " + part.dim() + ", " + part.states().size() + " states of sequences",
                    "expected " + dim() + " and none");
        }
        return new Experts(router, experts, part, norm);
    }

    /**
     * {@return this mixture with experts that read normalized states; the router ({@link Router#withNorm}) and a shared part read the states
     * without this norm}
     *
     * @param input a norm of the elements of a state; null for none
     * @throws IllegalArgumentException if it has another number of elements
     */
    public Experts withNorm(@Nullable Norm input) {
        if (input != null && input.dim() != dim()) {
            throw Checks.fail("input", input.dim() + " elements", "expected the " + dim() + " of a state");
        }
        return new Experts(router, experts, shared, input);
    }

    /** {@return the router that chooses among the experts} */
    public Router router() {
        return router;
    }

    /** {@return the experts, by their index} */
    public List<FeedForward> experts() {
        return experts;
    }

    @Override
    public int dim() {
        return layout.dim();
    }

    @Override
    public int scratch() {
        return Math.max(layout.floats(), shared == null ? 0 : shared.scratch());
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        RowChecks.require(cpu, x, y, dim(), scratch(), buffers);
        int tokens = (int) x.dim(0);
        ExpertsLayout.Views views = buffers.wide(layout, tokens);
        float[] wide = buffers.wide();
        ExpertRows rows = buffers.experts;
        Tensor forRouter = buffers.rowNorm.read(cpu, x, router.norm(), views.normed());
        router.logits().forward(cpu, forRouter, views.logits());
        int[] starts = rows.choose(cpu, router, wide, layout.logitStride(), tokens);
        Tensor read = buffers.rowNorm.read(cpu, x, norm, views.normed());
        rows.gather(cpu, read, wide, layout.rowsAt(tokens), layout.rowStride());
        boolean isOneProduct = up.weights.size() == experts.size();
        List<Tensor> inner = isOneProduct ? views.whole() : views.parts();
        Gemm.multiplyGroups(cpu, views.rows(), starts, up.weights, inner, up.options);
        if (layout.inner().gated()) {
            buffers.gate.run(
                    cpu,
                    wide,
                    layout.innerAt(tokens),
                    layout.inner(),
                    experts.get(0).gate(),
                    tokens * layout.used());
        }
        Gemm.multiplyGroups(cpu, views.hidden(), starts, down.weights, views.results(), down.options);
        rows.add(cpu, wide, layout.rowsAt(tokens), layout.rowStride(), y, adds);
        if (shared != null) {
            shared.compute(cpu, x, y, true, buffers);
        }
    }
}
