package io.multihead.jmh.bench;

import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Torch;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/**
 * The gradient of the input of a frozen layer: rows times the transpose of packed weights. {@code tensor} and PyTorch
 * have the weights in f32.
 */
public class FrozenGradientBench extends ThreadedComparison {
    @Param({"multihead", "tensor", "pytorch"})
    public String impl;

    @Param({"F32", "BF16", "Q8_0", "Q4_0", "Q4_K"})
    public String format;

    @Param({"64", "1024"})
    public int rows;

    @Param({"2048"})
    public int size;

    @Override
    public Work work() {
        return Work.operations(2.0 * rows * size * size);
    }

    @Override
    void open() throws Exception {
        FloatBuffer dy = Data.gaussian(rows * size, 1);
        Arena arena = Arena.ofAuto();
        PackedWeights packed = PackedWeights.ofOutputRows(
                arena, view(Data.gaussian(size * size, 2), size), WeightFormat.valueOf(format));
        Tensor weight = packed.unpack(arena).transpose(0, 1).copy(arena, DType.F32);
        Writer byTensor = dx -> () -> Gemm.multiply(cpu, view(dy, rows), weight, view(dx, rows), GemmOptions.DEFAULT);
        GemmOptions transposed = GemmOptions.DEFAULT.withTransposeB(true);
        Writer own = dx -> switch (impl) {
            case "multihead" -> () -> Gemm.multiply(cpu, view(dy, rows), packed, view(dx, rows), transposed);
            case "tensor" -> byTensor.into(dx);
            case "pytorch" -> {
                FloatBuffer values =
                        Data.zeros(size * size).put(weight.toArray()).flip();
                yield Torch.multiply(new int[] {rows, size, size}, threads, dy, values, dx);
            }
            default -> throw unknown(impl);
        };
        compare(impl, rows * size, byTensor, own, 1e-5);
    }

    private Tensor view(FloatBuffer buffer, int height) {
        return Data.tensor(buffer, height, size);
    }
}
