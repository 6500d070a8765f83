package io.multihead.bits;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.position.Alibi;
import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;

/** Attention forward with masks, score options, dropout, and numbers that are not finite. */
final class ScoreBits {
    private static final Shapes FEW = new Shapes(2, 4, 2, 3, 270, 20, 37);
    private static final Shapes MANY = new Shapes(2, 4, 2, 50, 66, 20, 37);
    private static final Shapes LONG = new Shapes(1, 2, 1, 50, 270, 16, 16);
    private static final Shapes MORE_QUERIES = new Shapes(1, 2, 2, 70, 40, 16, 16);

    private ScoreBits() {}

    static void run(Bits bits) {
        for (Shapes size : new Shapes[] {FEW, MANY, LONG, MORE_QUERIES}) {
            each(bits, size);
        }
        for (int axes = 0; axes < 16; axes++) {
            broadcast(bits, axes % 2 == 0 ? FEW : MANY, axes);
        }
        notFinite(bits, FEW);
        notFinite(bits, MANY);
        each(bits, new Shapes(1, 4, 1, 1, 2100, 24, 24));
    }

    private static void each(Bits bits, Shapes size) {
        Calls.Inputs inputs = size.inputs(bits);
        options(bits, size).forEach((name, options) -> both(bits, name, size, inputs, options));
    }

    /** Makes the call with and without weights, which take different paths. */
    private static void both(Bits bits, String name, Shapes size, Calls.Inputs inputs, AttentionOptions options) {
        String call = name + " " + size;
        Calls.attention(bits, call, inputs, size.results(bits), options);
        Calls.attention(bits, call + ", weights", inputs, size.withWeights(bits, DType.F32, Layout.DENSE), options);
    }

    /** Returns every option, alone and with others. Key lengths are not combined with positions. */
    private static Map<String, AttentionOptions> options(Bits bits, Shapes size) {
        Map<String, AttentionOptions> all = differentiable(bits, size);
        sparse(bits, size).forEach((name, mask) -> all.put(name, AttentionOptions.DEFAULT.withMask(mask)));
        int heads = size.heads();
        float[] sinks = new float[heads];
        float[] slopes = new float[heads];
        for (int h = 0; h < heads; h++) {
            sinks[h] = h == 0 ? Float.NEGATIVE_INFINITY : (float) bits.normal();
            slopes[h] = (float) bits.normal();
        }
        ScoreOptions none = ScoreOptions.NONE;
        Map<String, ScoreOptions> scores = new LinkedHashMap<>();
        scores.put("soft-cap", none.withSoftCap(1.5));
        scores.put("ALiBi", none.withSlopes(Alibi.slopes(heads)));
        scores.put("sinks", none.withSinks(sinks));
        scores.put("modifier", none.withModifier((b, h, i, j, s) -> j % 5 == i % 5 ? Float.NEGATIVE_INFINITY : s + h));
        scores.put(
                "all scores",
                none.withSoftCap(2).withSlopes(slopes).withSinks(sinks).withModifier(ScoreBits::modify));
        scores.forEach((name, changed) -> {
            all.put(name, AttentionOptions.DEFAULT.withScores(changed));
            all.put(name + ", causal", AttentionOptions.CAUSAL.withScores(changed));
        });
        Mask window = Mask.CAUSAL.and(Mask.window(30, 0));
        all.put(
                "everything",
                AttentionOptions.DEFAULT
                        .withScale(0.2)
                        .withMask(window.and(Mask.bias(bits.bias(0.2, DType.BF16, heads, 1, size.keys()))))
                        .withDropout(new AttentionDropout(0.1, -7))
                        .withScores(none.withSoftCap(3).withSinks(sinks)));
        return all;
    }

    private static float modify(long batch, long head, long query, long key, float score) {
        return score * (1 + (batch + head + query + key) % 3);
    }

    /** Returns options with a mask or dropout, for forward and backward. */
    static Map<String, AttentionOptions> differentiable(Bits bits, Shapes size) {
        Map<String, AttentionOptions> all = new LinkedHashMap<>();
        masks(bits, size).forEach((name, mask) -> all.put(name, AttentionOptions.DEFAULT.withMask(mask)));
        all.put("dropout", AttentionOptions.DEFAULT.withDropout(new AttentionDropout(0.3, 5)));
        all.put("all dropped", AttentionOptions.DEFAULT.withDropout(new AttentionDropout(1, 5)));
        return all;
    }

    private static Map<String, Mask> masks(Bits bits, Shapes size) {
        Map<String, Mask> masks = new LinkedHashMap<>();
        masks.put("none", Mask.NONE);
        masks.put("causal", Mask.CAUSAL);
        masks.put("causal top-left", Mask.CAUSAL_TOP_LEFT);
        masks.put("one length", Mask.keyLengths(size.keys() / 2));
        long[] lengths = new long[size.batch()];
        lengths[lengths.length - 1] = size.keys() * 2L / 3; // the other sequences have no key
        masks.put("lengths", Mask.keyLengths(lengths));
        masks.put("no key", Mask.keyLengths(0));
        Tensor flags = bits.flags(0.6, size.batch(), 1, size.queries(), size.keys());
        masks.put("lengths and tensors", Mask.keyLengths(size.keys() - 1).and(Mask.keep(flags)));
        masks.put("causal and tensors", Mask.CAUSAL.and(Mask.drop(flags)).and(Mask.bias(bits.normal(size.keys()))));
        masks.put("two biases", Mask.bias(bits.normal(size.keys())).and(Mask.bias(bits.normal(size.queries(), 1))));
        return masks;
    }

    private static Map<String, Mask> sparse(Bits bits, Shapes size) {
        Map<String, Mask> masks = new LinkedHashMap<>();
        masks.put("window", Mask.window(20, 3));
        masks.put("window to the left", Mask.window(5, 0));
        masks.put("window without end", Mask.window(Long.MAX_VALUE, 2));
        masks.put("causal window", Mask.CAUSAL.and(Mask.window(40, 0)));
        for (int block : new int[] {32, 64, 128, 256}) {
            long rows = Math.ceilDiv(size.queries(), block);
            long columns = Math.ceilDiv(size.keys(), block);
            Mask blocks = Mask.blocks(bits.flags(0.6, size.heads(), rows, columns), block);
            masks.put("blocks of " + block, blocks);
            masks.put(
                    "causal blocks of " + block,
                    Mask.blocks(bits.flags(0.5, rows, columns), block).and(Mask.CAUSAL));
        }
        return masks;
    }

    private static void broadcast(Bits bits, Shapes size, int axes) {
        long[] dims = size.broadcastable(axes);
        DType type = Bits.floating(axes);
        Mask[] masks = {
            Mask.keep(bits.flags(0.7, dims)), Mask.drop(bits.flags(0.3, dims)), Mask.bias(bits.bias(0.2, type, dims))
        };
        for (int kind = 0; kind < masks.length; kind++) {
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(masks[kind]);
            both(bits, "mask " + kind + " over axes " + axes, size, size.inputs(bits), options);
        }
    }

    /** Makes calls with non-finite numbers. Visible ones reach the rows that see them, and masked ones do not. */
    private static void notFinite(Bits bits, Shapes size) {
        for (int kind = 0; kind < 6; kind++) {
            Calls.Inputs inputs = size.inputs(bits);
            double special = new double[] {Double.NaN, Double.POSITIVE_INFINITY, 1e38}[kind % 3];
            inputs.value().set(special, 0, 1, 2, 4);
            inputs.key().set(special, 0, 0, size.keys() - 1, 3);
            if (kind >= 3) {
                inputs.query().set(special, 0, 2, 1, 0);
                inputs.value().set(-special, 0, 1, 2, 5);
            }
            Tensor keep = bits.flags(0.5, size.keys());
            keep.set(0, 2);
            keep.set(kind % 2, size.keys() - 1);
            AttentionOptions hidden = AttentionOptions.DEFAULT.withMask(Mask.keep(keep));
            both(bits, "not finite " + kind, size, inputs, AttentionOptions.DEFAULT);
            both(bits, "not finite, causal " + kind, size, inputs, AttentionOptions.CAUSAL);
            both(bits, "not finite, hidden " + kind, size, inputs, hidden);
        }
    }
}
