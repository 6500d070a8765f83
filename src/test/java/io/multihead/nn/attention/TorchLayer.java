package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;

/** Loads and runs a layer that PyTorch trained. */
public class TorchLayer {
    /** Reads a file that {@code safetensors.torch.save_file(layer.state_dict(), file)} wrote. */
    static MultiHeadAttention load(Arena arena, Path file, long embedDim, int heads) throws IOException {
        return MultiHeadAttention.of(MultiHeadConfig.of(embedDim, heads), Safetensors.map(arena, file)::find);
    }

    /**
     * Computes {@code layer(x, x, x, key_padding_mask=padding, is_causal=True)} for x of {@code [batch, tokens,
     * features]}.
     */
    static Tensor forward(Compute cpu, MultiHeadAttention layer, Tensor x, Tensor padding, Tensor weights) {
        Tensor output = Tensor.zeros(Arena.ofAuto(), DType.F32, x.shape().toArray());
        Mask mask = Mask.CAUSAL_TOP_LEFT.and(Mask.keyPadding(padding));
        layer.forward(
                cpu,
                MultiHeadInputs.of(x).withMask(mask),
                MultiHeadOutputs.of(output).withAverageWeights(weights));
        return output;
    }
}
