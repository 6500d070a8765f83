package io.multihead.it.llamacpp;

import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.SplittableRandom;

/**
 * Compares this library with llama.cpp's functions. Prints the comparisons, and fails at the first difference that is
 * not documented.
 */
public final class Oracle {
    private static final int BLOCKS = 20_000;

    private Oracle() {}

    /**
     * Runs all comparisons. The arguments are the folder of the libraries, a folder for files, and a folder that may
     * contain published models.
     */
    public static void main(String[] args) throws IOException {
        Path libraries = Path.of(args[0]);
        Native library = Native.load(libraries);
        GgmlBlocks ggml = new GgmlBlocks(library);
        for (BlockType type : BlockType.values()) {
            dequantize(ggml, type);
            quantize(ggml, type);
        }
        new ProductChecks(libraries).run();
        new ModelChecks(library, libraries, Path.of(args[1]), Path.of(args[2])).run();
        FamilyChecks.run(libraries, Path.of(args[1]));
        EmbeddingChecks.run(libraries, Path.of(args[1]));
    }

    /** Compares the values of random blocks, in which all scales occur, bit for bit except for the bits of NaN. */
    private static void dequantize(GgmlBlocks ggml, BlockType type) {
        SplittableRandom random = new SplittableRandom(1);
        byte[] bytes = new byte[BLOCKS * type.bytes()];
        random.nextBytes(bytes);
        BlockTensor blocks = BlockTensor.view(MemorySegment.ofArray(bytes), type, Shape.of(BLOCKS, type.elements()), 0);
        float[] expected = ggml.dequantize(blocks);
        float[] actual = new float[expected.length];
        blocks.dequantize(Tensor.of(actual, BLOCKS, type.elements()));
        int special = 0;
        for (int i = 0; i < expected.length; i++) {
            if (Float.floatToIntBits(expected[i]) != Float.floatToIntBits(actual[i])) {
                throw new AssertionError(type + " element " + i + ": " + actual[i] + "; ggml has " + expected[i]);
            }
            special += Float.isFinite(expected[i]) ? 0 : 1;
        }
        System.out.println(type + ": " + expected.length + " values dequantized with ggml's bits, " + special
                + " of them not finite");
    }

    /**
     * Compares quantized weights of several kinds. They have the values of ggml, and its bytes except for integers of
     * k-quants with a scale of 0.
     */
    private static void quantize(GgmlBlocks ggml, BlockType type) {
        int rows = 500;
        int columns = 512;
        float[] weights = weights(rows, columns);
        byte[] bytes = ggml.quantize(type, weights, rows);
        try (Arena arena = Arena.ofConfined()) {
            BlockTensor ours = BlockTensor.quantize(arena, Tensor.of(weights, rows, columns), type);
            BlockTensor theirs = BlockTensor.view(MemorySegment.ofArray(bytes), type, ours.shape(), 0);
            float[] expected = ggml.dequantize(theirs);
            float[] actual = ggml.dequantize(ours);
            for (int i = 0; i < expected.length; i++) {
                // values, not bits, since -0 equals 0
                if (expected[i] != actual[i]) {
                    throw new AssertionError(
                            type + " weight " + i + ", " + weights[i] + ": " + actual[i] + "; ggml has " + expected[i]);
                }
            }
            int others = 0;
            for (long at = 0; at < bytes.length; at += type.bytes()) {
                boolean same = theirs.memory()
                                .asSlice(at, type.bytes())
                                .mismatch(ours.memory().asSlice(at, type.bytes()))
                        < 0;
                others += same ? 0 : 1;
            }
            boolean search = type.elements() == 256;
            if (!search && others > 0) {
                throw new AssertionError(type + ": " + others + " blocks with other bytes");
            }
            System.out.println(type + ": " + bytes.length / type.bytes() + " blocks quantized to ggml's values, "
                    + others + " of them with other integers where the scale is 0");
        }
    }

    private static float[] weights(int rows, int columns) {
        SplittableRandom random = new SplittableRandom(2);
        float[] weights = new float[rows * columns];
        for (int row = 0; row < rows; row++) {
            float size = (float) Math.scalb(1.0, random.nextInt(-20, 4));
            int kind = random.nextInt(6);
            for (int i = row * columns; i < (row + 1) * columns; i++) {
                float normal = (float) random.nextGaussian();
                weights[i] = size
                        * switch (kind) {
                            case 0 -> Math.abs(normal); // of one sign
                            case 1 -> -1 - Math.abs(normal); // away from 0
                            case 2 -> (float) Math.rint(normal * 3); // ties
                            case 3 -> random.nextInt(8) == 0 ? normal * 20 : normal / 20; // few large ones
                            case 4 -> i / 32 % 3 == 0 ? 0 : normal; // runs of zeros
                            default -> normal;
                        };
            }
        }
        return weights;
    }
}
