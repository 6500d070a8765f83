package io.multihead.bits;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * Calls of attention forward with several sizes, element types and layouts, with weights, packed sequences, pages and partial states, and
 * calls of softmax.
 */
final class AttentionBits {
    /**
     * Sizes near the size of a tile (40 or 48 rows), a panel (32), a block (256 keys), a split (1024 keys) and a task (160 or 192 rows).
     */
    private static final Shapes[] SIZES = {
        new Shapes(2, 4, 4, 5, 7, 3, 5),
        new Shapes(1, 6, 2, 1, 33, 64, 64),
        new Shapes(2, 6, 2, 7, 70, 17, 33),
        new Shapes(1, 8, 1, 3, 257, 40, 9),
        new Shapes(1, 5, 1, 50, 300, 32, 96),
        new Shapes(1, 2, 2, 200, 31, 80, 1),
        new Shapes(1, 2, 1, 130, 130, 1, 64),
        new Shapes(1, 4, 2, 1, 1100, 24, 24),
        new Shapes(1, 1, 1, 1, 2100, 33, 16),
        new Shapes(2, 2, 1, 2, 2300, 8, 40),
        new Shapes(1, 3, 3, 49, 1030, 16, 16),
        new Shapes(1, 1, 1, 4, 20, 300, 290),
        new Shapes(1, 2, 1, 3, 0, 4, 4),
        new Shapes(1, 2, 2, 0, 5, 4, 4),
        new Shapes(3, 2, 1, 9, 1, 5, 5)
    };

    private AttentionBits() {}

    static void run(Bits bits) {
        sizes(bits);
        types(bits);
        views(bits);
        states(bits);
        softmax(bits);
    }

    private static void sizes(Bits bits) {
        for (Shapes size : SIZES) {
            Calls.Inputs inputs = size.inputs(bits);
            Calls.attention(bits, size + " plain", inputs, size.results(bits), AttentionOptions.DEFAULT);
            Calls.attention(bits, size + " causal", inputs, size.results(bits), AttentionOptions.CAUSAL);
            Calls.Results withWeights = size.withWeights(bits, DType.F32, Layout.DENSE);
            Calls.attention(bits, size + " weights", inputs, withWeights, AttentionOptions.DEFAULT.withScale(0.37));
        }
    }

    private static void types(Bits bits) {
        for (int types = 0; types < 125; types++) {
            Shapes size = new Shapes(2, 4, 2, types % 3 == 0 ? 1 : 50, 70, 20, 37);
            DType value = Bits.dtype(types / 25);
            Layout in = Bits.layout(types);
            Calls.Inputs inputs = size.inputs(bits, Bits.dtype(types), Bits.dtype(types / 5), value, in);
            Layout out = Bits.layout(types / 6);
            Calls.Results results = types % 4 == 3
                    ? size.withWeights(bits, Bits.floating(types / 4), out)
                    : size.results(bits, Bits.floating(types), Bits.floating(types / 4), out);
            AttentionOptions options = types % 2 == 0 ? AttentionOptions.DEFAULT : AttentionOptions.CAUSAL;
            Calls.attention(bits, "types " + types, inputs, results, options);
        }
    }

    private static void views(Bits bits) {
        Shapes size = new Shapes(1, 4, 2, 90, 90, 24, 40);
        PackedSequences ofKeys = PackedSequences.of(0, 33, 33, 88, 90);
        PackedSequences queries = PackedSequences.of(0, 12, 15, 60, 90);
        for (int kind = 0; kind < 5; kind++) {
            DType type = Bits.dtype(kind);
            Calls.Inputs inputs = size.inputs(bits, DType.F32, type, type, Bits.layout(kind));
            KeyValueView packed = KeyValueView.packed(inputs.key(), inputs.value(), ofKeys);
            Calls.packedAttention(bits, "packed " + kind, inputs.query(), queries, packed, size.results(bits));
            Shapes steps = new Shapes(4, 4, 2, 3, 90, 24, 40);
            Tensor query = bits.normal(4, 4, 3, 24);
            Calls.attention(bits, "step " + kind, query, packed, steps.results(bits), AttentionOptions.CAUSAL);
            pages(bits, type, kind);
        }
        Calls.Inputs inputs = size.inputs(bits);
        KeyValueView whole = KeyValueView.of(inputs.key(), inputs.value());
        Calls.attention(bits, "view", inputs.query(), whole, size.results(bits), AttentionOptions.CAUSAL);
    }

    private static void pages(Bits bits, DType type, int kind) {
        List<Tensor> keys = new ArrayList<>();
        List<Tensor> values = new ArrayList<>();
        for (int page = 0; page < 5; page++) {
            keys.add(bits.normal(type, Bits.layout(page + kind), 2, 64, 24));
            values.add(bits.normal(type, Bits.layout(page), 2, 64, 40));
        }
        KeyValueView view = KeyValueView.pages(keys, values, 300);
        for (int queries : new int[] {1, 70}) {
            Shapes size = new Shapes(1, 6, 2, queries, 300, 24, 40);
            Tensor query = bits.normal(1, 6, queries, 24);
            AttentionOptions windowed = AttentionOptions.DEFAULT.withMask(Mask.CAUSAL.and(Mask.window(100, 0)));
            Calls.attention(bits, "pages " + kind, query, view, size.results(bits), windowed);
        }
    }

    private static void states(Bits bits) {
        for (int kind = 0; kind < 4; kind++) {
            DType type = Bits.floating(kind);
            Layout layout = Bits.layout(kind + 1);
            Shapes size = new Shapes(2, 4, 2, 6, 50, 16, 40);
            Calls.Inputs first = size.inputs(bits);
            Calls.Inputs rest = new Calls.Inputs(first.query(), bits.normal(2, 2, 50, 16), bits.normal(2, 2, 50, 40));
            Calls.Results left = size.results(bits, type, type, layout);
            Calls.Results right = size.results(bits, type, type, layout);
            Mask some = Mask.keep(bits.flags(0.5, 2, 1, 6, 1)); // some rows see no key
            Calls.attention(bits, "left", first, left, AttentionOptions.DEFAULT);
            Calls.attention(bits, "right", rest, right, AttentionOptions.DEFAULT.withMask(some));
            Calls.merge(bits, type.toString(), left, right, size.results(bits, type, type, layout));
            Calls.merge(bits, "in place " + type, right, left, right);
        }
    }

    private static void softmax(Bits bits) {
        for (int kind = 0; kind < 20; kind++) {
            int keys = new int[] {1, 31, 70, 300, 1100}[kind % 5];
            Tensor scores = bits.normal(Bits.dtype(kind), Bits.layout(kind), 2, 3, 4, keys);
            Tensor output = bits.empty(Bits.floating(kind), Bits.layout(kind / 3), 2, 3, 4, keys);
            Tensor logSumExp = bits.empty(Bits.floating(kind / 4), 2, 3, 4);
            Mask mask =
                    switch (kind % 4) {
                        case 0 -> Mask.NONE;
                        case 1 -> Mask.keep(bits.flags(0.6, 3, 1, keys));
                        case 2 -> Mask.bias(bits.bias(0.3, DType.F32, 2, 1, 4, 1));
                        default -> Mask.keyLengths(0, keys / 2);
                    };
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
            Calls.softmax(bits, "kind " + kind, scores, output, kind % 3 == 0 ? null : logSumExp, options);
        }
        Tensor row = bits.normal(130);
        row.set(Double.POSITIVE_INFINITY, 7);
        Calls.softmax(bits, "infinite", row, row, null, AttentionOptions.DEFAULT.withScale(2));
    }
}
