package io.multihead.jmh.bench;

import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.it.llamacpp.GgmlBackend;
import io.multihead.it.llamacpp.GgmlProduct;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Jlama;
import io.multihead.jmh.peer.LlamaProduct;
import io.multihead.jmh.peer.Onnx;
import io.multihead.jmh.peer.OnnxBlocks;
import io.multihead.jmh.rival.JavaBlocks;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Param;

/**
 * Rows times quantized or 16-bit weights. Calls alternate between copies of the weights, so that weights are read from
 * memory. {@code multihead-8bit} rounds the rows to 8 bits, like {@code onnxruntime-8bit}. {@code multihead-f32}
 * multiplies by the same values as packed f32. {@code llamacpp} always rounds rows: to 8 bits for blocks, and to the
 * precision of the weights for 16 bits.
 */
public class WeightFormatBench extends ThreadedComparison {
    /** The bytes of all copies, which are more than caches hold. */
    private static final long BYTES = 1L << 28;

    private static final String ROUNDED = "-8bit";
    /** The number of rows from which on multiply-adds limit a product, not the bandwidth of memory. */
    private static final int MANY_ROWS = 16;

    @Param({
        "multihead",
        "multihead-8bit",
        "multihead-f32",
        "onnxruntime",
        "onnxruntime-8bit",
        "llamacpp",
        "jlama",
        "jlama-8bit",
        "loops"
    })
    public String impl;

    @Param({"BF16", "F16", "Q8_0", "Q4_0", "Q5_0", "Q4_K", "Q5_K", "Q6_K", "Q3_K", "Q2_K", "MXFP4", "IQ4_NL", "IQ4_XS"})
    public String format;

    @Param({"1", "4", "64", "512"})
    public int rows;

    @Param({"4096"})
    public int inputs;

    @Param({"4096", "14336"})
    public int outputs;

    @Override
    public Work work() {
        double weights = (double) inputs * outputs;
        return rows < MANY_ROWS ? Work.bytes(weights * bytesOfWeight()) : Work.operations(2 * rows * weights);
    }

    private double bytesOfWeight() {
        if (impl.endsWith("-f32")) {
            return Float.BYTES;
        }
        if (format.endsWith("F16")) {
            return Short.BYTES;
        }
        BlockType type = BlockType.valueOf(format);
        return (double) type.bytes() / type.elements();
    }

    @Override
    void open() throws Exception {
        FloatBuffer x = Data.gaussian(rows * inputs, 1);
        Tensor matrix = Data.tensor(2, outputs, inputs);
        PackedWeights wide = PackedWeights.ofOutputRows(widened(matrix));
        Writer exact = y -> () -> Gemm.multiply(
                cpu, Data.tensor(x, rows, inputs), wide, Data.tensor(y, rows, outputs), GemmOptions.DEFAULT);
        // a chain of block sums begins at 128 times the sum of its inputs, which loses up to seven of 24 bits, with
        // random signs; rounded inputs have an error of half a percent of the spread of results, and the largest errors
        // are five times as large
        double tolerance = impl.endsWith(ROUNDED) || impl.equals("llamacpp") ? 3e-2 : 1e-5;
        compare(impl, rows * outputs, exact, y -> make(x, matrix, y), tolerance);
    }

    private Runnable make(FloatBuffer x, Tensor matrix, FloatBuffer y) throws Exception {
        return switch (impl) {
            case "multihead" -> own(WeightFormat.valueOf(format), x, matrix, y);
            case "multihead-f32" -> own(WeightFormat.F32, x, widened(matrix), y);
            case "multihead-8bit" -> {
                requireFormat(BlockType.Q4_0, BlockType.Q4_K);
                yield own(WeightFormat.valueOf(format), x, matrix, y);
            }
            case "onnxruntime", "onnxruntime-8bit" -> {
                if (threads > 1) {
                    throw absent(impl, "has threads for each session, which wait actively and disturb those of others");
                }
                requireFormat(BlockType.Q8_0, BlockType.Q4_0);
                yield onnxRuntime(x, blocks(matrix), y);
            }
            case "llamacpp" -> llamaCpp(x, matrix, y);
            case "jlama", "jlama-8bit" -> {
                requireFormat(BlockType.Q4_0); // Jlama has no product of f32 and int8 weights
                yield jlama(x, blocks(matrix), y);
            }
            case "loops" -> {
                requireFormat(BlockType.Q8_0, BlockType.Q4_0);
                yield loops(x, blocks(matrix), y);
            }
            default -> throw unknown(impl);
        };
    }

    private void requireFormat(BlockType... types) {
        if (Arrays.stream(types).noneMatch(type -> type.name().equals(format))) {
            throw absent(impl, "is for " + Arrays.toString(types));
        }
    }

    private Runnable own(WeightFormat weights, FloatBuffer x, Tensor matrix, FloatBuffer y) throws Exception {
        Arena arena = Arena.ofAuto();
        PackedWeights first = PackedWeights.ofOutputRows(arena, matrix, weights);
        int[] all = IntStream.range(0, outputs).toArray();
        Tensor input = Data.tensor(x, rows, inputs);
        Tensor output = Data.tensor(y, rows, outputs);
        return inTurns(
                first.bytes(),
                () -> {
                    PackedWeights copy = first.selectOutputs(arena, all);
                    return impl.endsWith(ROUNDED) ? copy.withEightBitInputs() : copy;
                },
                copy -> Gemm.multiply(cpu, input, copy, output, GemmOptions.DEFAULT));
    }

    /** Returns a call that alternates between sessions. A session holds its weights, so each copy has a session. */
    private Runnable onnxRuntime(FloatBuffer x, BlockTensor blocks, FloatBuffer y) throws Exception {
        return inTurns(
                blocks.bytes(),
                () -> OnnxBlocks.multiply(rows, blocks, !impl.endsWith(ROUNDED), threads, x, y),
                Onnx::run);
    }

    private Runnable llamaCpp(FloatBuffer x, Tensor matrix, FloatBuffer y) throws Exception {
        boolean isBlocks =
                Arrays.stream(BlockType.values()).anyMatch(type -> type.name().equals(format));
        GgmlProduct.Matrix weights = isBlocks
                ? LlamaProduct.matrix(blocks(matrix))
                : LlamaProduct.matrix(matrix.copy(Arena.ofAuto(), DType.valueOf(format)));
        GgmlBackend backend = new GgmlBackend(LlamaProduct.libraries(), threads);
        return inTurns(
                weights.bytes().byteSize(), () -> new GgmlProduct(backend, weights, x), copy -> copy.multiply(y));
    }

    private Runnable jlama(FloatBuffer x, BlockTensor blocks, FloatBuffer y) throws Exception {
        return inTurns(
                blocks.bytes(), () -> Jlama.multiply(threads, x, blocks, impl.endsWith(ROUNDED), y), Runnable::run);
    }

    private Runnable loops(FloatBuffer x, BlockTensor blocks, FloatBuffer y) throws Exception {
        Arena arena = Arena.ofAuto();
        float[] rowsOfX = Data.array(x);
        JavaBlocks loop = new JavaBlocks(blocks.type(), inputs, outputs);
        return inTurns(
                blocks.bytes(),
                () -> {
                    MemorySegment memory = arena.allocate(blocks.bytes(), Long.BYTES);
                    memory.copyFrom(blocks.memory().asSlice(blocks.offset(), blocks.bytes()));
                    return BlockTensor.view(memory, blocks.type(), blocks.shape(), 0);
                },
                copy -> loop.multiply(threads, rowsOfX, copy, y));
    }

    /**
     * Returns a call that alternates between copies of the weights. There are enough copies that each call reads from
     * memory.
     */
    private static <T> Runnable inTurns(long bytes, Callable<T> copy, Consumer<T> call) throws Exception {
        List<T> copies = new ArrayList<>();
        for (long i = 0; i < Math.max(1, BYTES / bytes); i++) {
            copies.add(copy.call());
        }
        int[] turn = {0};
        return () -> call.accept(copies.get(Math.floorMod(turn[0]++, copies.size())));
    }

    private BlockTensor blocks(Tensor matrix) {
        return BlockTensor.quantize(Arena.ofAuto(), matrix, BlockType.valueOf(format));
    }

    /** Returns the values of a matrix after rounding to the format. */
    private Tensor widened(Tensor matrix) {
        Arena arena = Arena.ofAuto();
        if (format.endsWith("F16")) {
            return matrix.copy(arena, DType.valueOf(format)).copy(arena, DType.F32);
        }
        Tensor wide = Tensor.allocate(arena, DType.F32, matrix.shape());
        blocks(matrix).dequantize(wide);
        return wide;
    }
}
