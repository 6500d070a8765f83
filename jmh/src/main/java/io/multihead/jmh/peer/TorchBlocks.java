package io.multihead.jmh.peer;

import io.multihead.jmh.data.Data;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.TransformerEncoderLayerImpl;
import org.bytedeco.pytorch.TransformerEncoderLayerOptions;
import org.bytedeco.pytorch.kGELU;

/**
 * PyTorch's encoder layers with GELU and without dropout, with this library's parameters. In their tensors, the axis of
 * tokens precedes the batch. Their norms have an epsilon of 1e-5.
 */
public final class TorchBlocks {
    private TorchBlocks() {}

    /** Returns a layer for each map of parameters with PyTorch's names. */
    public static List<TransformerEncoderLayerImpl> of(
            int dim, int heads, int feedForward, List<Map<String, Tensor>> parameters) {
        List<TransformerEncoderLayerImpl> layers = new ArrayList<>();
        for (Map<String, Tensor> own : parameters) {
            TransformerEncoderLayerOptions options = new TransformerEncoderLayerOptions(dim, heads);
            options.dim_feedforward().put(feedForward);
            options.dropout().put(0.0);
            options.activation().put(new kGELU());
            TransformerEncoderLayerImpl layer = new TransformerEncoderLayerImpl(options);
            own.forEach((name, tensor) -> {
                FloatBuffer values = FloatBuffer.wrap(tensor.toArray());
                FloatBuffer direct = Data.zeros(values.capacity()).put(values).flip();
                layer.named_parameters()
                        .get(name)
                        .set_data(Torch.copy(direct, tensor.shape().toArray()));
            });
            layers.add(layer);
        }
        return layers;
    }

    /** Returns the output of consecutive layers. */
    public static org.bytedeco.pytorch.Tensor forward(
            List<TransformerEncoderLayerImpl> layers, org.bytedeco.pytorch.Tensor x) {
        org.bytedeco.pytorch.Tensor y = x;
        for (TransformerEncoderLayerImpl layer : layers) {
            y = layer.forward(y);
        }
        return y;
    }
}
