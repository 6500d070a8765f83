package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.support.ChildJvm;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * A JVM may prefer vectors of 64 bits, for which there are no tiles. From its first call on, it computes the same bits
 * as this JVM for weights of every format.
 */
class NarrowVectorsTest {
    /** One row, tiles of four rows with and without a remainder, and full tiles. The columns end within a panel. */
    private static final int[] ROWS = {1, 4, 6, 16, 40};

    private static final int INPUTS = 512;
    private static final int OUTPUTS = 94;

    /** Prints a hash for each format and number of rows. */
    public static void main(String[] arguments) {
        hashes().forEach(System.out::println);
    }

    @Test
    void theFirstCallsHaveTheSameBits() throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(NarrowVectorsTest.class, List.of("-XX:MaxVectorSize=8"));
        assertEquals(
                String.join("\n", hashes()),
                String.join(
                        "\n",
                        lines.stream().filter(line -> line.contains(" -> ")).toList()));
    }

    private static List<String> hashes() {
        SplittableRandom random = new SplittableRandom(1);
        Arena arena = Arena.ofAuto();
        Tensor matrix = Numbers.gaussian(Tensor.allocate(arena, DType.F32, Shape.of(OUTPUTS, INPUTS)), random, 0, 1);
        List<String> lines = new ArrayList<>();
        for (WeightFormat format : WeightFormat.values()) {
            PackedWeights weights = PackedWeights.ofOutputRows(arena, matrix, format);
            for (int rows : ROWS) {
                Tensor a = Numbers.gaussian(Tensor.allocate(arena, DType.F32, Shape.of(rows, INPUTS)), random, 0, 1);
                lines.add(format + " " + rows + " -> " + hash(a, weights));
                if (format.allowsEightBitInputs()) {
                    lines.add(format + " " + rows + " rounded -> " + hash(a, weights.withEightBitInputs()));
                }
            }
        }
        return lines;
    }

    private static int hash(Tensor a, PackedWeights weights) {
        float[] c = new float[Math.toIntExact(a.dim(0) * OUTPUTS)];
        Arrays.fill(c, Float.NaN);
        Gemm.multiply(Compute.serial(), a, weights, Tensor.of(c, a.dim(0), OUTPUTS), GemmOptions.DEFAULT);
        return Arrays.hashCode(c);
    }
}
