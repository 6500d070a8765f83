package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.support.Golden;
import io.multihead.support.PageCode;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The class of docs/layer-options.md is tested with a layer of PyTorch and its outputs. */
class TorchLayerTest {
    @Test
    void aTrainedLayerHasTheOutputsOfPyTorch() throws IOException {
        Path file = Path.of("src/test/resources/golden/mha/is_causal_needw_kpm.safetensors");
        Golden golden = Golden.open("mha/is_causal_needw_kpm");
        try (Arena arena = Arena.ofConfined()) {
            MultiHeadAttention layer = TorchLayer.load(arena, file, 16, 2);
            Tensor weights = Tensor.zeros(arena, DType.F32, 2, 9, 9);
            Tensor output = TorchLayer.forward(
                    Compute.serial(), layer, golden.tensor("query"), golden.tensor("key_padding_mask"), weights);
            assertClose(golden.tensor("expected.out"), output);
            assertClose(golden.tensor("expected.attn_weights"), weights);
        }
    }

    @Test
    void thePageHasThisCode() throws IOException {
        PageCode.isTested(
                Path.of("docs/layer-options.md"), Path.of("src/test/java/io/multihead/nn/attention/TorchLayer.java"));
    }

    /** The tolerance is 1e-6 of the largest element, as for all golden files. */
    private static void assertClose(Tensor expected, Tensor actual) {
        TestTensors.assertClose(cube(expected), cube(actual), 1e-6);
    }

    private static double[][][] cube(Tensor tensor) {
        return TestTensors.cube(tensor.reshape(1, 1, -1));
    }
}
