package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * Parts that read the same states, each with its own norms, and whose results are added: {@code after1(part1(before1(x))) +
 * after2(part2(before2(x))) + ...}. Gemma 4 combines a feed-forward network and experts in this way. Immutable and thread-safe; a warm
 * call allocates nothing itself.
 */
public final class Branches implements Part {
    private final List<Sublayer> branches;
    private final List<StateSizes> states;
    private final BranchesLayout layout;

    /** The scratch of the parts, followed by a row that a part reads and a row that it writes. */
    private record BranchesLayout(int inner, int dim) implements PartLayout<List<Tensor>> {
        @Override
        public int floats() {
            return inner + 2 * PartLayout.stride(dim);
        }

        @Override
        public List<Tensor> views(float[] buffer, int tokens) {
            int stride = PartLayout.stride(dim);
            int at = tokens * inner;
            return List.of(
                    PartLayout.rows(buffer, at, tokens, dim, stride),
                    PartLayout.rows(buffer, at + tokens * stride, tokens, dim, stride));
        }
    }

    private Branches(List<Sublayer> branches) {
        this.branches = branches;
        int scratch = 0;
        List<StateSizes> all = new ArrayList<>();
        for (Sublayer each : branches) {
            scratch = Math.max(scratch, PartLayout.stride(each.part().scratch()));
            all.addAll(each.part().states());
        }
        states = List.copyOf(all);
        layout = new BranchesLayout(scratch, branches.get(0).part().dim());
    }

    /**
     * {@return parts that read the same states and whose results are added}
     *
     * @param branches one branch or more, without norms of sums, since these belong to the states
     * @throws IllegalArgumentException if there is no branch, states differ in size, or a branch has a norm of sums
     */
    public static Branches of(Sublayer... branches) {
        List<Sublayer> all = List.of(Checks.noNulls(branches, "branches"));
        if (all.isEmpty()) {
            throw Checks.fail("branches", "none", "expected at least one");
        }
        int dim = all.get(0).part().dim();
        for (int i = 0; i < all.size(); i++) {
            Sublayer each = all.get(i);
            if (each.part().dim() != dim || each.sum() != null) {
                throw Checks.fail(
                        "branches[" + i + "]",
                        "states of " + each.part().dim() + (each.sum() == null ? "" : ", a norm of sums"),
                        "expected " + dim + ", as in the first, and no norm of sums");
            }
        }
        return new Branches(all);
    }

    /** {@return the parts with their norms, in the order in which they compute} */
    public List<Sublayer> branches() {
        return branches;
    }

    @Override
    public int dim() {
        return layout.dim();
    }

    @Override
    public int scratch() {
        return layout.floats();
    }

    @Override
    public List<StateSizes> states() {
        return states;
    }

    @Override
    public boolean sharesStates() {
        return branches.stream().anyMatch(each -> each.part().sharesStates());
    }

    @Override
    public long positions() {
        return branches.stream()
                .mapToLong(each -> each.part().positions())
                .min()
                .orElse(Long.MAX_VALUE);
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        RowChecks.require(cpu, x, y, dim(), scratch(), buffers);
        List<Tensor> rows = buffers.wide(layout, (int) x.dim(0));
        Tensor made = rows.get(1);
        for (int i = 0; i < branches.size(); i++) {
            Sublayer each = branches.get(i);
            Norm after = each.after();
            boolean isAdded = adds || i > 0;
            Tensor read = buffers.rowNorm.read(cpu, x, each.before(), rows.get(0));
            if (after == null) {
                each.part().compute(cpu, read, y, isAdded, buffers);
            } else {
                each.part().compute(cpu, read, made, false, buffers);
                buffers.rowNorm.run(cpu, made, after, y, isAdded);
            }
        }
    }
}
