package io.multihead.bits;

import io.multihead.analysis.HeadImportance;
import io.multihead.analysis.HeadStatistics;
import io.multihead.attention.Mask;
import io.multihead.gemm.Activation;
import io.multihead.nn.CrossEntropy;
import io.multihead.nn.Dropout;
import io.multihead.nn.Embedding;
import io.multihead.nn.FeedForward;
import io.multihead.nn.Gelu;
import io.multihead.nn.Layer;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Linear;
import io.multihead.nn.Relu;
import io.multihead.nn.Residual;
import io.multihead.nn.RmsNorm;
import io.multihead.nn.Sequence;
import io.multihead.nn.attention.GatedCrossAttention;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Forward and backward of layers other than attention, blocks, stacks of blocks and the loss, and statistics of heads. */
final class LayerBits {
    private static final int FEATURES = 37;

    private LayerBits() {}

    static void run(Bits bits) {
        for (int kind = 0; kind < 6; kind++) {
            DType type = Bits.floating(kind);
            Trainer trainer = new Trainer(bits, type, Bits.layout(kind));
            Tensor x = trainer.numbers(2, kind == 5 ? 100 : 9, FEATURES);
            layers(trainer).forEach((name, layer) -> trainer.layer(name + " " + type, layer, x));
        }
        Trainer trainer = new Trainer(bits, DType.F32, Layout.DENSE);
        Layer wide = Linear.of(trainer.numbers(70, 300), null);
        trainer.layer("wide", wide, trainer.numbers(130, 300));
        wide.parametersChanged();
        trainer.layer("one row", wide, trainer.numbers(1, 300));
        lookups(bits);
        blocks(bits, trainer);
        cross(bits, trainer);
    }

    private static Map<String, Layer> layers(Trainer trainer) {
        Tensor weight = trainer.numbers(FEATURES);
        Tensor bias = trainer.numbers(FEATURES);
        Shape row = Shape.of(FEATURES);
        Linear linear = Linear.of(trainer.numbers(FEATURES, FEATURES), bias);
        Map<String, Layer> layers = new LinkedHashMap<>();
        layers.put("linear", Linear.of(trainer.numbers(50, FEATURES), trainer.numbers(50)));
        layers.put("linear without bias", Linear.of(trainer.numbers(1, FEATURES), null));
        layers.put("layer norm", LayerNorm.of(row, 1e-5, weight, bias));
        layers.put("RMS norm", RmsNorm.of(row, 1e-6, weight));
        layers.put("RMS norm without weight", RmsNorm.of(row, 1e-6, null));
        layers.put("GELU", Gelu.erf());
        layers.put("GELU by tanh", Gelu.tanh());
        layers.put("ReLU", Relu.of());
        layers.put("dropout", Dropout.of(0.3));
        layers.put("residual", Residual.of(linear));
        layers.put(
                "stack",
                Sequence.of("layers.", List.of(linear, Gelu.erf(), Linear.of(trainer.numbers(5, FEATURES), null))));
        for (Activation activation : List.of(Activation.RELU, Activation.GELU, Activation.GELU_TANH)) {
            Map<String, Tensor> parameters = Map.of(
                    "linear1.weight", trainer.numbers(60, FEATURES),
                    "linear1.bias", trainer.numbers(60),
                    "linear2.weight", trainer.numbers(FEATURES, 60),
                    "linear2.bias", bias);
            double dropout = activation == Activation.RELU ? 0 : 0.2;
            layers.put(
                    "feed-forward " + activation, FeedForward.of(FEATURES, 60, activation, dropout, parameters::get));
        }
        return layers;
    }

    private static void lookups(Bits bits) {
        int[] ids = {3, 0, 3, 19, 7, 3};
        for (int kind = 0; kind < 4; kind++) {
            DType type = Bits.floating(kind);
            Tensor table = bits.normal(type, Bits.layout(kind), 20, FEATURES);
            Embedding embedding = Embedding.of(table);
            Tensor y = bits.empty(type, Bits.layout(kind + 1), 2, 3, FEATURES);
            embedding.forward(bits.cpu, ids, y);
            Tensor gradient = bits.normal(type, Bits.layout(kind + 2), 20, FEATURES);
            embedding.backward(bits.cpu, ids, bits.normal(type, Bits.layout(kind), 2, 3, FEATURES), gradient);
            bits.add("embedding " + type, y, gradient);
            int[] targets = {4, -100, 0, 36, 1, 1};
            Tensor logits = bits.normal(type, Bits.layout(kind), 2, 3, FEATURES);
            Tensor into = bits.empty(type, Bits.layout(kind + 3), 2, 3, FEATURES);
            bits.add("loss " + type, CrossEntropy.of().forward(bits.cpu, logits, targets));
            bits.add("loss " + type, CrossEntropy.ignoring(1).forward(bits.cpu, logits, new int[] {1, 2, 3, 4, 5, 6}));
            bits.add("loss " + type, CrossEntropy.of().lossAndGradient(bits.cpu, logits, targets, into));
            bits.add("loss gradient " + type, into);
        }
        HeadStatistics statistics = HeadStatistics.of(bits.flags(0.5, 3, 4, 5));
        bits.add("statistics", statistics.entropy());
        bits.add("statistics", statistics.deviationAcrossHeads());
        bits.add("importance", HeadImportance.normalized(HeadImportance.of(bits.normal(5, 3))));
    }

    private static void blocks(Bits bits, Trainer trainer) {
        int kind = 0;
        for (Activation activation : List.of(Activation.RELU, Activation.GELU, Activation.GELU_TANH)) {
            for (boolean normFirst : new boolean[] {false, true}) {
                TransformerBlock.Config config = TransformerBlock.Config.of(24, 4, 50)
                        .withActivation(activation)
                        .withNormFirst(normFirst)
                        .withDropout(kind % 3 == 1 ? 0.2 : 0);
                TransformerBlock block = TransformerBlock.initialize(bits.arena(), config, kind);
                bits.add("initial block", block.parameters().values().toArray(Tensor[]::new));
                Tensor x = trainer.numbers(2, 11, 24);
                trainer.layer("block " + kind, block, x);
                Tensor padding = bits.flags(0.3, 2, 11);
                Mask mask = Mask.CAUSAL.and(Mask.keyPadding(padding));
                trainer.layer("masked block " + kind, block.withMask(mask), x);
                trainer.layer("pruned block " + kind, block.keepHeads(bits.arena(), 3, 1), x);
                kind++;
            }
        }
    }

    private static void cross(Bits bits, Trainer trainer) {
        GatedCrossAttention.Config config =
                GatedCrossAttention.Config.of(24, 15, 4, 50).withDropout(0.1);
        Map<String, Tensor> parameters = new HashMap<>();
        shapes(parameters, trainer);
        GatedCrossAttention block = GatedCrossAttention.of(config, parameters::get);
        Tensor x = trainer.numbers(2, 7, 24);
        Tensor media = trainer.numbers(2, 30, 15);
        trainer.crossAttention("gated", block, MultiHeadInputs.of(x, media));
        MultiHeadInputs masked = MultiHeadInputs.of(x, media)
                .withMask(Mask.keep(bits.flags(0.6, 7, 30)))
                .withHeadMask(trainer.numbers(4));
        block.parametersChanged();
        trainer.crossAttention("gated, masks", block, masked);
    }

    private static void shapes(Map<String, Tensor> parameters, Trainer trainer) {
        parameters.put("attn.q_proj_weight", trainer.numbers(24, 24));
        parameters.put("attn.k_proj_weight", trainer.numbers(24, 15));
        parameters.put("attn.v_proj_weight", trainer.numbers(24, 15));
        parameters.put("attn.in_proj_bias", trainer.numbers(72));
        parameters.put("attn.out_proj.weight", trainer.numbers(24, 24));
        parameters.put("attn.out_proj.bias", trainer.numbers(24));
        parameters.put("attn_gate", trainer.numbers(1));
        parameters.put("ff.linear1.weight", trainer.numbers(50, 24));
        parameters.put("ff.linear1.bias", trainer.numbers(50));
        parameters.put("ff.linear2.weight", trainer.numbers(24, 50));
        parameters.put("ff.linear2.bias", trainer.numbers(24));
        parameters.put("ff_gate", trainer.numbers(1));
        for (String norm : new String[] {"attn_norm.", "ff_norm."}) {
            parameters.put(norm + "weight", trainer.numbers(24));
            parameters.put(norm + "bias", trainer.numbers(24));
        }
    }
}
