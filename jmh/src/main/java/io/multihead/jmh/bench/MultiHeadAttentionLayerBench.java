package io.multihead.jmh.bench;

import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.LayerWeights;
import io.multihead.jmh.peer.GemmLayer;
import io.multihead.jmh.peer.Onnx;
import io.multihead.jmh.peer.Torch;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import java.util.function.Supplier;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.openjdk.jmh.annotations.Param;

/** A layer of self-attention with constant weights and biases: input projections, attention and output projection. */
public class MultiHeadAttentionLayerBench extends ThreadedComparison {
    @Param({"multihead", "onnxruntime", "openblas", "pytorch"})
    public String impl;

    /** The sizes: features, heads, batch, tokens. */
    @Param({"512x8x8x128", "512x8x8x512", "768x12x1x512", "384x12x1x16", "384x12x32x128"})
    public String shape;

    private int features;
    private int heads;
    private int batch;
    private int tokens;

    @Override
    public Work work() {
        int[] sizes = Data.sizes(shape);
        double rows = (double) sizes[2] * sizes[3];
        double projections = 4 * 2 * rows * sizes[0] * sizes[0];
        double perHead = (double) sizes[0] / sizes[1];
        return Work.operations(projections + Work.attention((double) sizes[2] * sizes[1], sizes[3], perHead, false));
    }

    @Override
    void open() throws Exception {
        int[] sizes = Data.sizes(shape);
        features = sizes[0];
        heads = sizes[1];
        batch = sizes[2];
        tokens = sizes[3];
        int length = batch * tokens * features;
        LayerWeights weights = LayerWeights.draw(features);
        FloatBuffer x = Data.gaussian(length, 1);
        // three consecutive sums, each with some hundred roundings
        compare(impl, length, y -> ours(weights, x, y), y -> make(weights, x, y), 1e-5);
    }

    private Runnable make(LayerWeights weights, FloatBuffer x, FloatBuffer y) throws Exception {
        return switch (impl) {
            case "multihead" -> ours(weights, x, y);
            case "onnxruntime" -> onnx(weights, x, y);
            case "openblas" ->
                new GemmLayer(batch * tokens, weights, threads)
                        .on(new int[] {batch, heads, tokens, features / heads}, cpu, x, y);
            case "pytorch" -> torch(weights, x, y);
            default -> throw unknown(impl);
        };
    }

    /** Returns this library's call. The first run packs the weights. */
    private Runnable ours(LayerWeights weights, FloatBuffer x, FloatBuffer y) {
        MultiHeadAttention layer = MultiHeadAttention.of(MultiHeadConfig.of(features, heads), weights::tensor);
        Tensor input = view(x);
        Tensor output = view(y);
        return () -> layer.forward(cpu, input, output);
    }

    private Runnable onnx(LayerWeights weights, FloatBuffer x, FloatBuffer y) throws Exception {
        long[] sizes = {batch, tokens, features};
        Onnx graph = new Onnx("MatMul", "").input("x", x, sizes);
        projection(graph, weights, 0).to("q").then("MatMul", "").from("x");
        projection(graph, weights, 1).to("k").then("MatMul", "").from("x");
        projection(graph, weights, 2)
                .to("v")
                .then("MultiHeadAttention", "com.microsoft")
                .from("q")
                .from("k")
                .from("v")
                .attribute("num_heads", heads)
                .to("heads")
                .then("MatMul", "")
                .from("heads");
        return projection(graph, weights, 3).output(y, sizes).open(threads);
    }

    /**
     * Adds the weight and the output of a multiplication, and an addition of the bias, without the output of the
     * addition.
     */
    private Onnx projection(Onnx graph, LayerWeights weights, int part) {
        return graph.constant("weight" + part, weights.transposed(part), features, features)
                .to("product" + part)
                .then("Add", "")
                .from("product" + part)
                .constant("bias" + part, weights.bias(part), features);
    }

    /**
     * Returns the computation of Python's layer without a request for weights. The layer of the C++ interface always
     * computes the weights.
     */
    private Runnable torch(LayerWeights weights, FloatBuffer x, FloatBuffer y) {
        Torch.threads(threads); // the first call, so that PyTorch is loaded with the right settings
        org.bytedeco.pytorch.Tensor input = Torch.copy(x, batch, tokens, features);
        org.bytedeco.pytorch.Tensor inWeight = Torch.copy(weights.inWeight(), 3L * features, features);
        org.bytedeco.pytorch.Tensor outWeight = Torch.copy(weights.outWeight(), features, features);
        TensorOptional inBias = new TensorOptional(Torch.copy(weights.inBias(), 3L * features));
        TensorOptional outBias = new TensorOptional(Torch.copy(weights.outBias(), features));
        Supplier<org.bytedeco.pytorch.Tensor> layer = () -> {
            TensorVector parts = torch.linear(input, inWeight, inBias)
                    .view(batch, tokens, 3, heads, features / heads)
                    .transpose(1, 3)
                    .unbind(2);
            Torch.attentionThreads(threads);
            org.bytedeco.pytorch.Tensor attended = Torch.attend(parts.get(0), parts.get(1), parts.get(2), false);
            Torch.threads(threads);
            return torch.linear(attended.transpose(1, 2).reshape(batch, tokens, features), outWeight, outBias);
        };
        Torch.read(layer.get(), y);
        return Torch.inference(layer::get);
    }

    private Tensor view(FloatBuffer buffer) {
        return Data.tensor(buffer, batch, tokens, features);
    }
}
