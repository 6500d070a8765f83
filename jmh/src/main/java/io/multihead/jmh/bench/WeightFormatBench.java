package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * Rows times packed weights of each format, of which so many copies take turns that they come from memory. {@code IN_8_BITS}: rows are
 * rounded.
 */
public class WeightFormatBench extends Comparison {
    /** Bytes of all copies: more than caches hold. */
    private static final long BYTES = 1L << 28;

    private static final String ROUNDED = "_IN_8_BITS";

    @Param({"F32", "BF16", "F16", "Q8_0", "Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q4_0_IN_8_BITS", "Q4_K_IN_8_BITS"})
    public String impl;

    @Param({"1", "4", "64", "512"})
    public int rows;

    @Param({"4096"})
    public int inputs;

    @Param({"4096", "14336"})
    public int outputs;

    @Param({"1", "2"})
    public int threads;

    private int turn;

    @Override
    public Work work() {
        return Work.bytes(Float.BYTES * (double) inputs * outputs);
    }

    @Setup(Level.Trial)
    public void open() {
        FloatBuffer x = Data.gaussian(rows * inputs, 1);
        FloatBuffer weight = Data.gaussian(inputs * outputs, 2);
        FloatBuffer y = Data.zeros(rows * outputs);
        FloatBuffer expected = Data.zeros(rows * outputs);
        cpu = Compute.threads(threads);
        Tensor input = view(x, rows, inputs);
        Tensor matrix = view(weight, outputs, inputs);
        boolean isRounded = impl.endsWith(ROUNDED);
        WeightFormat format = WeightFormat.valueOf(impl.replace(ROUNDED, ""));
        PackedWeights rounded = PackedWeights.of(widened(format, matrix).permute(1, 0));
        Gemm.multiply(cpu, input, rounded, view(expected, rows, outputs), GemmOptions.DEFAULT);
        load(impl, () -> make(input, matrix, format, isRounded, view(y, rows, outputs)));
        // a chain of block sums begins at 128 times the sum of its inputs, which loses up to seven bits of 24, of
        // random signs
        // rounded inputs are off by half a percent of the spread of results, of which the largest are five times as
        // large
        Data.requireClose(impl, expected, y, isRounded ? 3e-2 : 1e-5);
    }

    @Benchmark
    public void multiply() {
        call.run();
    }

    private Runnable make(Tensor input, Tensor matrix, WeightFormat format, boolean isRounded, Tensor output) {
        Arena arena = Arena.ofAuto();
        PackedWeights first = PackedWeights.of(matrix.permute(1, 0), format, arena);
        PackedWeights[] copies = new PackedWeights[(int) Math.max(1, BYTES / first.bytes())];
        for (int i = 0; i < copies.length; i++) {
            Tensor panels = Tensor.allocate(
                    arena, first.panels().dtype(), first.panels().shape());
            first.panels().copyTo(panels);
            PackedWeights copy = PackedWeights.ofPanels(panels, format, inputs, outputs);
            copies[i] = isRounded ? copy.withEightBitInputs() : copy;
        }
        return () ->
                Gemm.multiply(cpu, input, copies[Math.floorMod(turn++, copies.length)], output, GemmOptions.DEFAULT);
    }

    /** Returns the values that a format has after rounding. */
    private static Tensor widened(WeightFormat format, Tensor matrix) {
        Arena arena = Arena.ofAuto();
        Tensor wide = Tensor.allocate(arena, DType.F32, matrix.shape());
        switch (format) {
            case F32 -> matrix.copyTo(wide);
            case BF16, F16 -> {
                DType dtype = DType.valueOf(format.name());
                Tensor narrow = Tensor.allocate(arena, dtype, matrix.shape());
                matrix.copyTo(narrow);
                narrow.copyTo(wide);
            }
            default ->
                BlockTensor.quantise(matrix, BlockType.valueOf(format.name()), arena)
                        .dequantise(wide);
        }
        return wide;
    }

    private static Tensor view(FloatBuffer buffer, int height, int width) {
        return Tensor.view(MemorySegment.ofBuffer(buffer), DType.F32, Shape.of(height, width));
    }
}
