package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.reference.ReferenceTransformer.Linear;
import io.multihead.reference.ScoreRule;
import java.util.List;

/** The tensors of the attention of a small model, and its specification. */
final class FamilyAttention {
    private FamilyAttention() {}

    static void draw(FamilyFile file, String at) {
        Kind kind = file.kind;
        int dim = file.dim;
        int headDim = file.headDim;
        int queries = FamilyFile.HEADS * headDim;
        int keys = FamilyFile.KEY_HEADS * headDim;
        file.draw(at + "attn_norm.weight", 1, 0.2, dim);
        // the mean is not 0, so that sums grow with their number of terms
        if (kind.isPhi()) {
            file.draw(at + "attn_qkv.weight", 0.02, 0.12, queries + 2 * keys, dim);
        } else {
            file.draw(at + "attn_q.weight", 0.02, 0.12, kind.isQwen35() ? 2 * queries : queries, dim);
            file.draw(at + "attn_k.weight", 0.02, 0.12, keys, dim);
            file.draw(at + "attn_v.weight", 0.02, 0.12, keys, dim);
        }
        file.draw(at + "attn_output.weight", 0.02, 0.1, dim, queries);
        if (kind == Kind.QWEN_2 || kind == Kind.GPT_OSS) {
            file.draw(at + "attn_q.bias", 0.1, 0.3, queries);
            file.draw(at + "attn_k.bias", 0.1, 0.3, keys);
            file.draw(at + "attn_v.bias", 0.1, 0.3, keys);
        }
        if (kind.hasHeadNorms()) {
            file.draw(at + "attn_q_norm.weight", 1, 0.3, headDim);
            file.draw(at + "attn_k_norm.weight", 1, 0.3, headDim);
        }
    }

    static ReferenceTransformer.Attention reference(FamilyFile file, String at, int layer) {
        Kind kind = file.kind;
        int headDim = file.headDim;
        boolean local = kind.isGemma() && layer % 6 != 5;
        boolean windowed = local || kind == Kind.GPT_OSS && layer % 2 == 0;
        ScoreRule rule = ScoreRule.causalTopLeft();
        rule = windowed ? rule.and(ScoreRule.windowFrom(FamilyFile.WINDOW - 1, 0, 0)) : rule;
        ReferenceRope rope = ReferenceRope.of(
                file.rotaryDims(),
                local ? FamilyFile.LOCAL_THETA : FamilyFile.THETA,
                kind.isInterleaved() && !file.halves);
        if (kind == Kind.LLAMA_3) {
            rope = rope.perPair(file.wide("rope_freqs.weight"), 1);
        }
        if (kind.isPhi()) {
            boolean isShort = file.shortContext || kind == Kind.PHI_4_SHORT;
            String factors = isShort ? "rope_factors_short.weight" : "rope_factors_long.weight";
            rope = rope.perPair(file.wide(factors), file.attentionFactor());
        }
        if (kind == Kind.GPT_OSS) {
            rope = rope.yarn(4, FamilyFile.ORIGINAL, 32, 1, 1 + 0.1 * Math.log(4), true);
        }
        if (kind == Kind.SMOLLM_3 && layer % 4 == 3 || kind == Kind.GRANITE_HYBRID) {
            rope = null;
        }
        boolean normed = kind.hasHeadNorms();
        return new ReferenceTransformer.Attention(
                projections(file, at),
                FamilyFile.scaled(file.linear(at + "attn_output.weight"), file.residualScale()),
                FamilyFile.HEADS,
                FamilyFile.KEY_HEADS,
                new ReferenceTransformer.Scores(
                        kind.isGranite() ? FamilyExperts.ATTENTION_SCALE : 1 / Math.sqrt(headDim),
                        rule,
                        kind == Kind.GPT_OSS ? file.wide(at + "attn_sinks.weight") : null,
                        rope,
                        normed ? file.norm(at + "attn_q_norm.weight") : null,
                        normed ? file.norm(at + "attn_k_norm.weight") : null));
    }

    private static List<Linear> projections(FamilyFile file, String at) {
        Kind kind = file.kind;
        int headDim = file.headDim;
        if (!kind.isPhi()) {
            Linear queries = file.linear(at + "attn_q.weight");
            return List.of(
                    kind.isQwen35() ? FamilyLinear.half(queries, headDim, 0) : queries,
                    file.linear(at + "attn_k.weight"),
                    file.linear(at + "attn_v.weight"));
        }
        String all = at + "attn_qkv.weight";
        int queries = FamilyFile.HEADS * headDim;
        int keys = FamilyFile.KEY_HEADS * headDim;
        return List.of(
                file.rows(all, 0, queries),
                file.rows(all, queries, queries + keys),
                file.rows(all, queries + keys, queries + 2 * keys));
    }
}
