package io.multihead.bits;

import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.nn.attention.GatedCrossAttention;
import io.multihead.nn.attention.GatedPass;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadGradients;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.nn.attention.MultiHeadPass;
import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** The calls of layers, forward and backward, with one method for each, so that a renamed method of the library is renamed only here. */
final class Trainer {
    private static final long SEED = 11;

    private final Bits bits;
    /** The element type of inputs and results. */
    private final DType type;

    private final Layout layout;

    Trainer(Bits bits, DType type, Layout layout) {
        this.bits = bits;
        this.type = type;
        this.layout = layout;
    }

    /** Runs inference, then forward and backward as in training; parameter gradients are added to the existing gradients. */
    void layer(String name, Layer layer, Tensor x) {
        Tensor y = results(layer.outputShape(x.shape()).toArray());
        layer.forward(bits.cpu, x, y);
        bits.add(name, y);
        Tensor dx = results(x.shape().toArray());
        Map<String, Tensor> gradients = gradients(layer.parameters());
        try (Pass pass = layer.record(bits.cpu, x, y, SEED)) {
            pass.backward(numbers(y.shape().toArray()), dx, gradients);
        }
        bits.add(name + ", trained", all(gradients, y, dx));
    }

    /** Runs attention with separate inputs, weights and gradients, in inference and in training. */
    void attention(
            String name,
            MultiHeadAttention layer,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            MultiHeadGradients to) {
        layer.forward(bits.cpu, inputs, outputs);
        bits.add(name, present(outputs.output(), outputs.averageWeights(), outputs.headWeights()));
        Map<String, Tensor> gradients = gradients(layer.parameters());
        try (MultiHeadPass pass = layer.record(bits.cpu, inputs, outputs, SEED)) {
            pass.backward(numbers(outputs.output().shape().toArray()), to, gradients);
        }
        bits.add(name + ", trained", present(outputs.output(), outputs.averageWeights(), outputs.headWeights()));
        Tensor[] written = present(to.query(), to.key(), to.value(), perHead(to.scoreBias()), to.headMask());
        bits.add(name + ", gradients", all(gradients, written));
    }

    void crossAttention(String name, GatedCrossAttention layer, MultiHeadInputs inputs) {
        Tensor x = inputs.query();
        Tensor media = inputs.key();
        Tensor y = results(x.shape().toArray());
        layer.forward(bits.cpu, inputs, y);
        bits.add(name, y);
        Tensor dx = results(x.shape().toArray());
        Tensor dMedia = results(media.shape().toArray());
        Map<String, Tensor> gradients = gradients(layer.parameters());
        try (GatedPass pass = layer.record(bits.cpu, inputs, y, SEED)) {
            MultiHeadGradients to = MultiHeadGradients.of(dx, dMedia);
            pass.backward(numbers(y.shape().toArray()), to, gradients);
        }
        bits.add(name + ", trained", all(gradients, y, dx, dMedia));
    }

    /** Returns the gradient of a bias per batch and head in PyTorch's shape, {@code [batch * heads, queries, keys]}. */
    private Tensor perHead(Tensor bias) {
        return bias == null || bias.rank() < 4
                ? bias
                : bias.copy(bits.arena(), bias.dtype()).reshape(-1, bias.dim(2), bias.dim(3));
    }

    Tensor numbers(long... dims) {
        return bits.normal(type, layout, dims);
    }

    Tensor results(long... dims) {
        return bits.empty(type, layout, dims);
    }

    private Map<String, Tensor> gradients(Map<String, Tensor> parameters) {
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        parameters.forEach(
                (name, tensor) -> gradients.put(name, bits.normal(tensor.shape().toArray())));
        return gradients;
    }

    private static Tensor[] all(Map<String, Tensor> gradients, Tensor... others) {
        List<Tensor> all = new ArrayList<>(List.of(others));
        all.addAll(gradients.values());
        return all.toArray(Tensor[]::new);
    }

    private static Tensor[] present(Tensor... tensors) {
        return Stream.of(tensors).filter(Objects::nonNull).toArray(Tensor[]::new);
    }
}
