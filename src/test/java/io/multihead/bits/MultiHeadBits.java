package io.multihead.bits;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.MultiHeadGradients;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;

/** Forward and backward of the multi-head attention layer with every option, mask and kind of input, and with some heads removed. */
final class MultiHeadBits {
    private static final int EMBED = 24;
    private static final int BATCH = 2;

    private MultiHeadBits() {}

    static void run(Bits bits) {
        int kind = 0;
        for (MultiHeadConfig config : configs()) {
            for (int masks = 0; masks < 6; masks++) {
                three(bits, config, kind++, masks);
            }
            self(bits, config, kind++);
        }
        window(bits);
        axes(bits);
        pruned(bits);
    }

    private static MultiHeadConfig[] configs() {
        MultiHeadConfig plain = MultiHeadConfig.of(EMBED, 4);
        return new MultiHeadConfig[] {
            plain,
            plain.withBias(false).withKeyValueHeads(2),
            plain.withKeyValueBias(true),
            plain.withZeroKey(true).withKeyValueHeads(1).withDropout(0.25),
            MultiHeadConfig.of(EMBED, 4, 9)
                    .withValueDim(5)
                    .withKeyValueBias(true)
                    .withZeroKey(true),
            plain.withInputDims(13, 40).withOutputShape(3, 7),
            plain.withOptions(AttentionOptions.CAUSAL.withScale(0.3)).withDropout(0.1),
            plain.withBatchFirst(false)
        };
    }

    /** Calls with separate queries, keys and values, and with all weights and gradients. */
    private static void three(Bits bits, MultiHeadConfig config, int kind, int masks) {
        Trainer trainer = new Trainer(bits, Bits.floating(kind), Bits.layout(kind));
        int queries = 6;
        int keys = kind % 4 == 3 ? 70 : 9;
        long keyWidth = config.keyInputDim();
        long valueWidth = config.valueInputDim();
        Tensor query = tokens(trainer, config, queries, EMBED);
        Tensor key = tokens(trainer, config, keys, keyWidth);
        Tensor value = tokens(trainer, config, keys, valueWidth);
        MultiHeadInputs inputs = MultiHeadInputs.of(query, key, value);
        MultiHeadGradients to = MultiHeadGradients.of(
                trainer.results(query.shape().toArray()),
                trainer.results(key.shape().toArray()),
                trainer.results(value.shape().toArray()));
        Mask mask = mask(bits, masks, queries, keys);
        inputs = inputs.withMask(mask);
        if (masks % 2 == 1 && masks < 5) {
            inputs = inputs.withHeadMask(masks == 1 ? bits.normal(4) : bits.normal(BATCH, 4));
        }
        if (masks == 3 || masks == 4) {
            Tensor bias = mask.tensors().get(0);
            to = to.withScoreBias(trainer.results(bias.shape().toArray()));
        }
        if (masks % 2 == 1) {
            to = to.withHeadMask(masks == 3 ? trainer.results(BATCH, 4) : trainer.results(4));
        }
        trainer.attention(
                "layer " + kind, layer(bits, config, kind), inputs, outputs(trainer, config, queries, keys, kind), to);
    }

    private static Mask mask(Bits bits, int masks, int queries, int keys) {
        return switch (masks) {
            case 1 -> Mask.keyPadding(bits.flags(0.3, BATCH, keys));
            case 2 ->
                Mask.bias(bits.bias(0.2, DType.F32, keys)).and(Mask.drop(bits.flags(0.3, BATCH, 4, queries, keys)));
            case 3 -> Mask.bias(bits.bias(0.2, DType.F32, BATCH, 4, queries, keys));
            case 4 -> Mask.CAUSAL_TOP_LEFT.and(Mask.bias(bits.normal(queries, keys)));
            case 5 -> drop(bits.flags(0.3, queries, keys), keys);
            default -> Mask.NONE;
        };
    }

    private static Mask drop(Tensor flags, int keys) {
        return Mask.keyLengths(keys - 2L).and(Mask.drop(flags));
    }

    private static MultiHeadOutputs outputs(Trainer trainer, MultiHeadConfig config, int queries, int keys, int kind) {
        long[] features = config.outputShape().toArray();
        long[] dims = new long[2 + features.length];
        dims[0] = config.batchFirst() ? BATCH : queries;
        dims[1] = config.batchFirst() ? queries : BATCH;
        System.arraycopy(features, 0, dims, 2, features.length);
        MultiHeadOutputs outputs = MultiHeadOutputs.of(trainer.results(dims));
        int extra = (config.keyValueBias() ? 1 : 0) + (config.zeroKey() ? 1 : 0);
        outputs = kind % 3 == 0 ? outputs : outputs.withAverageWeights(trainer.results(BATCH, queries, keys + extra));
        return kind % 2 == 0 ? outputs : outputs.withHeadWeights(trainer.results(BATCH, 4, queries, keys + extra));
    }

    /** Calls with one tensor as query, key and value, which one product projects, if the widths allow it. */
    private static void self(Bits bits, MultiHeadConfig config, int kind) {
        if (config.keyInputDim() == EMBED && config.valueInputDim() == EMBED) {
            Trainer trainer = new Trainer(bits, Bits.floating(kind), Bits.layout(kind));
            trainer.layer("self-attention " + kind, layer(bits, config, kind), tokens(trainer, config, 50, EMBED));
            trainer.layer("one token " + kind, layer(bits, config, kind), tokens(trainer, config, 1, EMBED));
        }
    }

    /** Runs inference with a window and score options. */
    private static void window(Bits bits) {
        ScoreOptions scores =
                ScoreOptions.NONE.withSoftCap(5).withSinks(1, 0, -1, 2).withSlopes(0.5f, 0.25f, 0.1f, 1);
        AttentionOptions options = AttentionOptions.CAUSAL.withScores(scores);
        MultiHeadAttention layer = layer(bits, MultiHeadConfig.of(EMBED, 4).withOptions(options), 3);
        Trainer trainer = new Trainer(bits, DType.F32, Bits.layout(0));
        MultiHeadInputs inputs =
                MultiHeadInputs.of(trainer.numbers(2, 40, EMBED)).withMask(Mask.window(9, 0));
        MultiHeadOutputs outputs = MultiHeadOutputs.of(trainer.results(2, 40, EMBED));
        layer.forward(bits.cpu, inputs, outputs);
        bits.add("score options and window", outputs.output());
    }

    /** Attention along some of the axes of an input. */
    private static void axes(Bits bits) {
        Trainer trainer = new Trainer(bits, DType.F32, Bits.layout(0));
        Tensor x = trainer.numbers(2, 3, 4, 5, EMBED);
        int[][] choices = {{}, {1}, {3}, {1, 3}, {2, 1}};
        for (int[] axes : choices) {
            MultiHeadAttention layer = layer(bits, MultiHeadConfig.of(EMBED, 3).withAttentionAxes(axes), axes.length);
            trainer.layer("axes", layer, x);
        }
        trainer.layer("without batch", layer(bits, MultiHeadConfig.of(EMBED, 3), 1), trainer.numbers(7, EMBED));
    }

    private static void pruned(Bits bits) {
        Trainer trainer = new Trainer(bits, DType.F32, Bits.layout(0));
        MultiHeadAttention layer = layer(bits, MultiHeadConfig.of(EMBED, 4, 7).withKeyValueBias(true), 5);
        MultiHeadAttention smaller = layer.keepHeads(bits.arena(), 2, 0);
        bits.add("pruned", smaller.parameters().values().toArray(Tensor[]::new));
        trainer.layer("pruned", smaller, trainer.numbers(2, 9, EMBED));
    }

    private static MultiHeadAttention layer(Bits bits, MultiHeadConfig config, int seed) {
        MultiHeadAttention layer = MultiHeadAttention.initialize(bits.arena(), config, seed);
        bits.add("initial " + seed, layer.parameters().values().toArray(Tensor[]::new));
        return layer;
    }

    private static Tensor tokens(Trainer trainer, MultiHeadConfig config, long tokens, long features) {
        return config.batchFirst()
                ? trainer.numbers(BATCH, tokens, features)
                : trainer.numbers(tokens, BATCH, features);
    }
}
