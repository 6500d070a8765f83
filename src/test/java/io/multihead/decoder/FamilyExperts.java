package io.multihead.decoder;

import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceExperts;
import io.multihead.reference.ReferenceTransformer.FeedForward;
import io.multihead.reference.ReferenceTransformer.Linear;
import io.multihead.reference.ReferenceTransformer.Rows;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The experts of a small model: their tensors as files of GGUF have them, other names and forms of these, and the specification. */
final class FamilyExperts {
    static final int COUNT = 6;
    static final int USED = 2;
    private static final String GATES = "ffn_gate_exps.weight";
    private static final String UPS = "ffn_up_exps.weight";

    private FamilyExperts() {}

    /** Returns the layer by the specification; the factors of the chosen experts are divided by their sum. */
    static Rows of(Linear router, Tensor gates, Tensor ups, Tensor downs) {
        List<FeedForward> experts = new ArrayList<>();
        for (int expert = 0; expert < COUNT; expert++) {
            experts.add(new FeedForward(
                    linear(gates, expert), linear(ups, expert), linear(downs, expert), ReferenceActivation::silu));
        }
        return new ReferenceExperts(router, new ReferenceExperts.Rule(USED, false, true, 1, null), experts, null);
    }

    private static Linear linear(Tensor of, int expert) {
        Tensor one = of.select(0, expert);
        float[] values = one.toArray();
        double[] wide = new double[values.length];
        Arrays.setAll(wide, i -> values[i]);
        return new Linear(wide, null, (int) one.dim(0), (int) one.dim(1));
    }

    /** Returns the tensors of transformers' models in place of those with all experts: one for each expert, or gates and ups in one. */
    static Map<String, Tensor> huggingFace(Map<String, Tensor> tensors, boolean joined) {
        Map<String, Tensor> all = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> {
            if (!name.contains("_exps")) {
                all.put(name, tensor);
            } else if (!joined) {
                for (int expert = 0; expert < COUNT; expert++) {
                    String own = "mlp.experts." + expert + ".$1_proj.weight";
                    all.put(name.replaceFirst("ffn_(\\w+)_exps.weight", own), tensor.select(0, expert));
                }
            } else if (name.endsWith(GATES)) {
                Tensor ups = tensors.get(name.replace(GATES, UPS));
                all.put(name.replace(GATES, "mlp.experts.gate_up_proj"), joined(tensor, ups));
            } else if (!name.endsWith(UPS)) {
                all.put(name.replace("ffn_down_exps.weight", "mlp.experts.down_proj"), tensor);
            }
        });
        return all;
    }

    private static Tensor joined(Tensor gates, Tensor ups) {
        long inner = gates.dim(1);
        int elements = (int) (2 * gates.shape().elements());
        Tensor all = Tensor.of(new float[elements], gates.dim(0), 2 * inner, gates.dim(2));
        gates.copyTo(all.slice(1, 0, inner));
        ups.copyTo(all.slice(1, inner, 2 * inner));
        return all;
    }
}
