package io.multihead.bits;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.nn.MultiHeadAttention;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.nn.MultiHeadGradients;
import io.multihead.nn.MultiHeadInputs;
import io.multihead.nn.MultiHeadOutputs;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;

/** The multi-head attention layer with every option, mask and kind of input, forward and backward, and without some heads. */
final class MultiHeadBits {
    private static final int EMBED = 24;
    private static final int BATCH = 2;

    private MultiHeadBits() {}

    static void run(Bits bits) {
        int kind = 0;
        for (Config config : configs()) {
            for (int masks = 0; masks < 6; masks++) {
                three(bits, config, kind++, masks);
            }
            self(bits, config, kind++);
        }
        window(bits);
        axes(bits);
        pruned(bits);
    }

    private static Config[] configs() {
        Config plain = Config.of(EMBED, 4);
        return new Config[] {
            plain,
            plain.withBias(false).withKvHeads(2),
            plain.withKeyValueBias(true),
            plain.withZeroKey(true).withKvHeads(1).withDropout(0.25),
            Config.of(EMBED, 4, 9).withValueDim(5).withKeyValueBias(true).withZeroKey(true),
            plain.withInputDims(13, 40).withOutputShape(3, 7),
            plain.withOptions(AttentionOptions.CAUSAL.withScale(0.3)).withDropout(0.1),
            plain.withBatchFirst(false)
        };
    }

    /** Different queries, keys and values, with all weights and gradients. */
    private static void three(Bits bits, Config config, int kind, int masks) {
        Trainer trainer = new Trainer(bits, Bits.floating(kind), Bits.layout(kind));
        int queries = 6;
        int keys = kind % 4 == 3 ? 70 : 9;
        long keyWidth = config.widths().keyInputDim();
        long valueWidth = config.widths().valueInputDim();
        Tensor query = tokens(trainer, config, queries, EMBED);
        Tensor key = tokens(trainer, config, keys, keyWidth);
        Tensor value = tokens(trainer, config, keys, valueWidth);
        MultiHeadInputs inputs = MultiHeadInputs.of(query, key, value);
        MultiHeadGradients to = MultiHeadGradients.of(
                trainer.results(query.shape().toArray()),
                trainer.results(key.shape().toArray()),
                trainer.results(value.shape().toArray()));
        inputs = masked(bits, inputs, masks, queries, keys);
        Tensor scoreMask = inputs.scoreMask();
        if (scoreMask != null && scoreMask.dtype().isFloating()) {
            to = to.withScoreBias(trainer.results(scoreMask.shape().toArray()));
        }
        if (masks % 2 == 1) {
            to = to.withHeadMask(masks == 3 ? trainer.results(BATCH, 4) : trainer.results(4));
        }
        trainer.attention(
                "layer " + kind, layer(bits, config, kind), inputs, outputs(trainer, config, queries, keys, kind), to);
    }

    private static MultiHeadInputs masked(Bits bits, MultiHeadInputs inputs, int masks, int queries, int keys) {
        return switch (masks) {
            case 1 -> inputs.withKeyPadding(bits.flags(0.3, BATCH, keys)).withHeadMask(bits.normal(4));
            case 2 ->
                inputs.withKeyPadding(bits.bias(0.2, DType.F32, keys))
                        .withDroppedScores(bits.flags(0.3, BATCH * 4, queries, keys));
            case 3 ->
                inputs.withScoreBias(bits.bias(0.2, DType.F32, BATCH * 4, queries, keys))
                        .withHeadMask(bits.normal(BATCH, 4));
            case 4 -> inputs.withScoreBias(bits.normal(queries, keys)).withMask(Mask.CAUSAL_TOP_LEFT);
            case 5 -> inputs.withDroppedScores(bits.flags(0.3, queries, keys)).withMask(Mask.keyLengths(keys - 2L));
            default -> inputs;
        };
    }

    private static MultiHeadOutputs outputs(Trainer trainer, Config config, int queries, int keys, int kind) {
        long[] features = config.widths().outputShape().toArray();
        long[] dims = new long[2 + features.length];
        dims[0] = config.batchFirst() ? BATCH : queries;
        dims[1] = config.batchFirst() ? queries : BATCH;
        System.arraycopy(features, 0, dims, 2, features.length);
        MultiHeadOutputs outputs = MultiHeadOutputs.of(trainer.results(dims));
        int extra = (config.extras().keyValueBias() ? 1 : 0) + (config.extras().zeroKey() ? 1 : 0);
        outputs = kind % 3 == 0 ? outputs : outputs.withAverageWeights(trainer.results(BATCH, queries, keys + extra));
        return kind % 2 == 0 ? outputs : outputs.withHeadWeights(trainer.results(BATCH, 4, queries, keys + extra));
    }

    /** One tensor as query, key and value, projected at once, where the widths allow it. */
    private static void self(Bits bits, Config config, int kind) {
        if (config.widths().keyInputDim() == EMBED && config.widths().valueInputDim() == EMBED) {
            Trainer trainer = new Trainer(bits, Bits.floating(kind), Bits.layout(kind));
            trainer.layer("self-attention " + kind, layer(bits, config, kind), tokens(trainer, config, 50, EMBED));
            trainer.layer("one token " + kind, layer(bits, config, kind), tokens(trainer, config, 1, EMBED));
        }
    }

    /** Inference alone: backward has no window and no score options. */
    private static void window(Bits bits) {
        ScoreOptions scores =
                ScoreOptions.NONE.withSoftCap(5).withSinks(1, 0, -1, 2).withSlopes(0.5f, 0.25f, 0.1f, 1);
        AttentionOptions options = AttentionOptions.CAUSAL.withScores(scores);
        MultiHeadAttention layer = layer(bits, Config.of(EMBED, 4).withOptions(options), 3);
        Trainer trainer = new Trainer(bits, DType.F32, Bits.layout(0));
        MultiHeadInputs inputs =
                MultiHeadInputs.of(trainer.numbers(2, 40, EMBED)).withMask(Mask.window(9, 0));
        MultiHeadOutputs outputs = MultiHeadOutputs.of(trainer.results(2, 40, EMBED));
        layer.forward(bits.cpu, inputs, outputs);
        bits.add("score options and window", outputs.output());
    }

    /** Attention along some axes of an input with several. */
    private static void axes(Bits bits) {
        Trainer trainer = new Trainer(bits, DType.F32, Bits.layout(0));
        Tensor x = trainer.numbers(2, 3, 4, 5, EMBED);
        int[][] choices = {{}, {1}, {3}, {1, 3}, {2, 1}};
        for (int[] axes : choices) {
            MultiHeadAttention layer = layer(bits, Config.of(EMBED, 3).withAttentionAxes(axes), axes.length);
            trainer.layer("axes", layer, x);
        }
        trainer.layer("without batch", layer(bits, Config.of(EMBED, 3), 1), trainer.numbers(7, EMBED));
    }

    private static void pruned(Bits bits) {
        Trainer trainer = new Trainer(bits, DType.F32, Bits.layout(0));
        MultiHeadAttention layer = layer(bits, Config.of(EMBED, 4, 7).withKeyValueBias(true), 5);
        MultiHeadAttention smaller = layer.keepHeads(bits.arena(), 2, 0);
        bits.add("pruned", smaller.parameters().values().toArray(Tensor[]::new));
        trainer.layer("pruned", smaller, trainer.numbers(2, 9, EMBED));
    }

    private static MultiHeadAttention layer(Bits bits, Config config, int seed) {
        MultiHeadAttention layer = MultiHeadAttention.initialise(config, seed, bits.arena());
        bits.add("initial " + seed, layer.parameters().values().toArray(Tensor[]::new));
        return layer;
    }

    private static Tensor tokens(Trainer trainer, Config config, long tokens, long features) {
        return config.batchFirst()
                ? trainer.numbers(BATCH, tokens, features)
                : trainer.numbers(tokens, BATCH, features);
    }
}
