package io.multihead.gemm;

import static io.multihead.support.Reachability.assertCollected;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.layout.Panels;
import io.multihead.support.Golden;
import io.multihead.support.Numbers;
import io.multihead.support.TestTensors;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** PyTorch's {@code gemm_*} vectors, the memory of scratch, and the words of every error. */
class GemmTest {
    private static final ScratchKey<GemmCall> UNCHECKED = ScratchKey.of(GemmCall::new);
    private static final Compute CPU = Compute.serial();

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return Golden.names("gemm/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    Tensor expected = golden.tensor("expected.out");
                    Tensor c = Tensor.of(
                            new float[(int) expected.shape().elements()],
                            expected.shape().toArray());
                    Tensor before = golden.find("C");
                    if (before != null) {
                        before.copyTo(c);
                    }
                    GemmOptions options = GemmOptions.DEFAULT
                            .withTransposeA(golden.meta("transA").equals("true"))
                            .withTransposeB(golden.meta("transB").equals("true"))
                            .withFactors(Float.parseFloat(golden.meta("alpha")), Float.parseFloat(golden.meta("beta")));
                    Gemm.multiply(CPU, golden.tensor("A"), golden.tensor("B"), c, options);
                    double[] exact = Numbers.of(expected);
                    double scale = Arrays.stream(exact).map(Math::abs).max().orElse(1);
                    Assertions.assertArrayEquals(exact, Numbers.of(c), 1e-6 * scale);
                }));
    }

    /**
     * The product is so deep that fewer packed columns of B than a unit are kept from one depth block to the next, or
     * none.
     */
    @ParameterizedTest
    @CsvSource({"5000, 1100", "17000, 256"})
    void deepProductsHaveTheBitsOfWeightsPackedAtOnce(int depth, int columns) {
        SplittableRandom random = new SplittableRandom(3);
        Tensor a = Numbers.gaussian(matrix(200, depth), random, 0, 1);
        Tensor b = Numbers.gaussian(matrix(depth, columns), random, 0, 1);
        Tensor expected = matrix(200, columns);
        Gemm.multiply(CPU, a, PackedWeights.ofInputRows(b), expected, GemmOptions.DEFAULT);
        for (int threads = 1; threads <= 2; threads++) {
            Tensor c = matrix(200, columns);
            try (Compute cpu = Compute.threads(threads)) {
                Gemm.multiply(cpu, a, b, c, GemmOptions.DEFAULT);
            }
            Assertions.assertArrayEquals(expected.toArray(), c.toArray(), threads + " threads");
        }
    }

    /** Columns with stride 0 begin at one address, whatever their number and their position in C. */
    @Test
    void repeatedColumnsOfUnequalPartsHaveTheBitsOfWeightsPackedAtOnce() {
        SplittableRandom random = new SplittableRandom(4);
        Tensor a = Numbers.gaussian(matrix(200, 300), random, 0, 1);
        Tensor b = Numbers.gaussian(matrix(300, 1), random, 0, 1).broadcast(300, 1500);
        Tensor expected = matrix(200, 1500);
        Gemm.multiply(CPU, a, PackedWeights.ofInputRows(b), expected, GemmOptions.DEFAULT);
        Tensor c = matrix(200, 1500);
        Gemm.multiply(CPU, a, b, c, GemmOptions.DEFAULT);
        Assertions.assertArrayEquals(expected.toArray(), c.toArray());
    }

    /** Scratch keeps the memory of panels from call to call, but a call does not read the panels of an earlier call. */
    @Test
    void whatWasPackedServesNoOtherCall() {
        Tensor a = Numbers.gaussian(matrix(400, 30), new SplittableRandom(1), 0, 1);
        Tensor b = Numbers.gaussian(matrix(30, 40), new SplittableRandom(2), 0, 1);
        Tensor c = matrix(400, 40);
        Gemm.multiply(CPU, a, b, c, GemmOptions.DEFAULT);
        Numbers.gaussian(b, new SplittableRandom(3), 0, 1);
        Gemm.multiply(CPU, a, b, c, GemmOptions.DEFAULT);
        Tensor expected = matrix(400, 40);
        Gemm.multiply(Compute.serial(), a, b, expected, GemmOptions.DEFAULT);
        Assertions.assertArrayEquals(expected.toArray(), c.toArray());
    }

    /** A single row reads panels in pairs. It adds the chains of a long k in the same order as many rows. */
    @ParameterizedTest
    @CsvSource({"255, 64", "257, 96", "512, 65", "513, 64", "800, 64", "1100, 130"})
    void aRowAloneHasTheBitsThatItHasAmongOthers(int k, int n) {
        Tensor a = random(7, k);
        PackedWeights b = PackedWeights.ofInputRows(random(k, n));
        Tensor all = matrix(7, n);
        Gemm.multiply(CPU, a, b, all, GemmOptions.DEFAULT);
        for (int row = 0; row < 7; row++) {
            Tensor alone = matrix(1, n);
            Gemm.multiply(CPU, a.slice(0, row, row + 1), b, alone, GemmOptions.DEFAULT);
            Assertions.assertArrayEquals(all.slice(0, row, row + 1).toArray(), alone.toArray());
        }
    }

    private static Tensor random(int rows, int columns) {
        return TestTensors.random(new Random(rows * 31L + columns), rows, columns);
    }

    /** Threads keep scratch permanently, and scratch holds no reference to a caller's weights. */
    @Test
    void scratchLetsGoOfPackedWeights() throws InterruptedException {
        assertCollected(used());
    }

    @Test
    void scratchLetsGoOfTheTensorsOfAFailedCall() throws InterruptedException {
        assertCollected(failed());
    }

    /** Runs a call without its checks, as if another thread had closed the arena during the call. */
    private static WeakReference<Tensor> failed() {
        Arena arena = Arena.ofShared();
        Tensor a = Tensor.allocate(arena, DType.F32, Shape.of(2, 3));
        arena.close();
        try (GemmCall call = Operation.open(CPU, UNCHECKED)) {
            call.bind(a, matrix(3, 4), null, matrix(2, 4), GemmOptions.DEFAULT);
            assertThrows(IllegalStateException.class, call::run);
        }
        return new WeakReference<>(a);
    }

    private static WeakReference<Object> used() {
        PackedWeights weights = PackedWeights.ofInputRows(matrix(3, 4));
        Gemm.multiply(CPU, matrix(2, 3), weights, matrix(2, 4), GemmOptions.DEFAULT);
        Panels panels = new Panels();
        weights.matrix().block(0, 3, 0, panels);
        return new WeakReference<>(panels.segment());
    }

    @Test
    void errorsNameTheArgumentAndBothShapes() {
        Tensor a = matrix(2, 3);
        Tensor b = matrix(3, 4);
        Tensor c = matrix(2, 4);
        Named.message("a: shape [3]; expected [..., rows, columns]", () -> run(Tensor.of(new float[3]), b, c));
        Named.message("a: shape [5, 3]; expected 2 rows, as in c [2, 4]", () -> run(matrix(5, 3), b, c));
        Named.message(
                "b: shape [5, 4] with 5 rows and 4 columns; expected 3 rows as a has columns, and 4 columns, as in c [2, 4]",
                () -> run(a, matrix(5, 4), c));
        Named.message(
                "b: packed with 3 rows and 5 columns; expected 3 rows as a has columns, and 4 columns, as in c [2, 4]",
                () -> Gemm.multiply(CPU, a, PackedWeights.ofInputRows(matrix(3, 5)), c, GemmOptions.DEFAULT));
        Named.message(
                "b: shape [2, 3, 4]; expected batch axes as in c [2, 4], or 1",
                () -> run(a, Tensor.of(new float[24], 2, 3, 4), c));
        Named.message(
                "bias: shape [3]; expected [4], as in c [2, 4]",
                () -> Gemm.multiply(CPU, a, b, c, GemmOptions.DEFAULT.withBias(Tensor.of(new float[3]))));
        Named.message("bias: F32 [2, 2]; expected one axis", () -> GemmOptions.DEFAULT.withBias(matrix(2, 2)));
        Named.message(
                "b: packed, transposed, with 4 rows and 3 columns; expected 3 rows as a has columns, and 4 columns, as in c [2, 4]",
                () -> Gemm.multiply(CPU, a, PackedWeights.ofInputRows(b), c, GemmOptions.DEFAULT.withTransposeB(true)));
        Named.message(
                "product 0: options: transposeB with packed weights; expected false, with weights packed as [inputs, outputs]",
                () -> Gemm.multiply(
                        CPU,
                        a,
                        List.of(PackedWeights.ofInputRows(b)),
                        List.of(c),
                        List.of(GemmOptions.DEFAULT.withTransposeB(true))));
        Named.message(
                "matrix: shape [3]; expected two axes [inputs, outputs]",
                () -> PackedWeights.ofInputRows(Tensor.of(new float[3])));
    }

    /** Errors name the shapes of the arguments, not the transposed shapes. */
    @Test
    void errorsNameTheShapesThatWereGiven() {
        Tensor c = matrix(2, 4);
        GemmOptions left = GemmOptions.DEFAULT.withTransposeA(true);
        GemmOptions right = GemmOptions.DEFAULT.withTransposeB(true);
        Named.message(
                "a: shape [3, 5] transposed; expected 2 rows, as in c [2, 4]",
                () -> Gemm.multiply(CPU, matrix(3, 5), matrix(3, 4), c, left));
        Named.message(
                "a: shape [3, 5] transposed; expected 2 rows, as in c [2, 4]",
                () -> Gemm.multiply(CPU, matrix(3, 5), PackedWeights.ofInputRows(matrix(3, 4)), c, left));
        Named.message(
                "b: shape [4, 5] transposed with 5 rows and 4 columns; expected 3 rows as a has columns, and 4 columns, "
                        + "as in c [2, 4]",
                () -> Gemm.multiply(CPU, matrix(2, 3), matrix(4, 5), c, right));
        Named.message(
                "b: shape [2, 4, 3] transposed; expected batch axes as in c [2, 4], or 1",
                () -> Gemm.multiply(CPU, matrix(2, 3), zeros(2, 4, 3), c, right));
    }

    @Test
    void memoryThatCannotServeIsRefused() {
        float[] shared = new float[32];
        Tensor a = Tensor.of(shared, 2, 3);
        Tensor c = Tensor.of(shared, 2, 4);
        Named.message("c: F32 [2, 4] overlaps a; expected separate memory", () -> run(a, matrix(3, 4), c));
        Tensor once = Tensor.of(new float[4], 1, 4).broadcast(2, 4);
        Named.message(
                "c: F32 [2, 4] strides [0, 1]; expected every element to have its own storage",
                () -> run(matrix(2, 3), matrix(3, 4), once));
        Tensor fixed = Tensor.view(MemorySegment.ofArray(new float[8]).asReadOnly(), DType.F32, Shape.of(2, 4));
        Named.message(
                "c: read-only memory; expected memory that can be written",
                () -> run(matrix(2, 3), matrix(3, 4), fixed));
        Arena arena = Arena.ofConfined();
        Tensor gone = Tensor.allocate(arena, DType.F32, Shape.of(2, 3));
        try (Compute two = Compute.threads(2)) {
            Named.message(
                    "a: memory of an arena confined to this thread; expected a shared, automatic or global arena, as this "
                            + "Compute has 2 threads",
                    () -> Gemm.multiply(two, gone, matrix(3, 4), matrix(2, 4), GemmOptions.DEFAULT));
        }
        arena.close();
        assertThrows(IllegalStateException.class, () -> run(gone, matrix(3, 4), matrix(2, 4)));
    }

    /** Packing on several threads refuses memory that these threads cannot access, before a thread fails. */
    @Test
    void packingNamesMemoryThatItsThreadsCannotUse() throws InterruptedException {
        Arena closed = Arena.ofShared();
        closed.close();
        Tensor matrix = matrix(64, 64);
        BlockTensor blocks = BlockTensor.quantize(Arena.ofAuto(), matrix, BlockType.Q8_0);
        String of = "memory of an arena confined to ";
        String here = of + "this thread; expected a shared, automatic or global arena, as this Compute has 2 threads";
        try (Arena confined = Arena.ofConfined();
                Compute two = Compute.threads(2)) {
            Tensor own = Tensor.allocate(confined, DType.F32, Shape.of(64, 64));
            BlockTensor ownBlocks = BlockTensor.quantize(confined, matrix, BlockType.Q8_0);
            WeightFormat format = WeightFormat.F32;
            Arena auto = Arena.ofAuto();
            Named.message("matrix: " + here, () -> PackedWeights.ofInputRows(two, auto, own, format));
            Named.message("matrix: " + here, () -> PackedWeights.ofOutputRows(two, auto, own, format));
            Named.message("blocks: " + here, () -> PackedWeights.ofOutputRows(two, auto, ownBlocks));
            Named.message("arena: " + here, () -> PackedWeights.ofInputRows(two, confined, matrix, format));
            Named.message("arena: " + here, () -> PackedWeights.ofOutputRows(two, confined, matrix, format));
            Named.message("arena: " + here, () -> PackedWeights.ofOutputRows(two, confined, blocks));
            String gone = "arena: closed; expected an open arena";
            Assertions.assertEquals(
                    gone,
                    assertThrows(
                                    IllegalStateException.class,
                                    () -> PackedWeights.ofInputRows(two, closed, matrix, format))
                            .getMessage());
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread other = Thread.ofPlatform()
                    .start(() -> thrown.set(assertThrows(
                            WrongThreadException.class,
                            () -> PackedWeights.ofInputRows(two, confined, matrix, format))));
            other.join();
            Assertions.assertEquals(
                    "arena: " + of + "another thread; expected an arena that this thread may use",
                    thrown.get().getMessage());
            // one thread may use its own memory
            Assertions.assertEquals(
                    64, PackedWeights.ofInputRows(CPU, confined, own, format).outputs());
        }
    }

    /**
     * The name of the method states the first axis, so that a forgotten transposition of a square matrix is noticed.
     */
    @Test
    void rowsAreInputsOrOutputsByName() {
        Tensor a = random(2, 3);
        Tensor square = random(3, 3);
        Tensor byInputs = matrix(2, 3);
        Tensor byOutputs = matrix(2, 3);
        multiply(a, PackedWeights.ofInputRows(square), byInputs);
        Tensor expected = matrix(2, 3);
        run(a, square, expected);
        Assertions.assertArrayEquals(expected.toArray(), byInputs.toArray());
        multiply(a, PackedWeights.ofOutputRows(square), byOutputs);
        Gemm.multiply(CPU, a, square, expected, GemmOptions.DEFAULT.withTransposeB(true));
        Assertions.assertArrayEquals(expected.toArray(), byOutputs.toArray());
        Tensor wide = random(3, 4);
        Assertions.assertEquals(3, PackedWeights.ofInputRows(wide).inputs());
        Assertions.assertEquals(4, PackedWeights.ofOutputRows(wide).inputs());
        BlockTensor blocks = BlockTensor.quantize(Arena.ofAuto(), random(5, 32), BlockType.Q8_0);
        Assertions.assertEquals(
                32, PackedWeights.ofOutputRows(Arena.ofAuto(), blocks).inputs());
        Named.message(
                "matrix: shape [3]; expected two axes [outputs, inputs]",
                () -> PackedWeights.ofOutputRows(Tensor.of(new float[3])));
    }

    @Test
    void everyOperandIsAMatrixWithBatchAxesOfC() {
        Tensor vector = Tensor.of(new float[3]);
        PackedWeights packed = PackedWeights.ofInputRows(matrix(3, 4));
        Named.message("a: shape [3]; expected [..., rows, columns]", () -> multiply(vector, packed, matrix(2, 4)));
        Named.message("b: shape [3]; expected [..., rows, columns]", () -> run(matrix(2, 3), vector, matrix(2, 4)));
        Named.message("c: shape [3]; expected [..., rows, columns]", () -> run(matrix(2, 3), matrix(3, 4), vector));
        Tensor c = Tensor.of(new float[2 * 3 * 2 * 4], 2, 3, 2, 4);
        for (Tensor a : List.of(zeros(2, 2, 3), zeros(3, 3, 2, 3), zeros(1, 2, 3, 2, 3))) {
            String wrong = "a: shape " + a.shape() + "; expected batch axes as in c [2, 3, 2, 4], or 1";
            Named.message(wrong, () -> run(a, matrix(3, 4), c));
            Named.message(wrong, () -> multiply(a, packed, c));
        }
        Tensor b = zeros(2, 3, 4);
        Named.message(
                "b: shape [2, 3, 4]; expected batch axes as in c [2, 3, 2, 4], or 1", () -> run(zeros(3, 2, 3), b, c));
        run(zeros(3, 2, 3), zeros(2, 1, 3, 4), c); // a and b are each repeated along the batch axis that they lack
    }

    @Test
    void theOutputOverlapsNoOperand() {
        float[] shared = new float[12];
        Tensor c = Tensor.of(shared, 2, 4);
        Named.message(
                "c: F32 [2, 4] overlaps b; expected separate memory",
                () -> run(matrix(2, 3), Tensor.of(shared, 3, 4), c));
        GemmOptions biased = GemmOptions.DEFAULT.withBias(Tensor.of(shared, 12).slice(0, 7, 11));
        Named.message(
                "c: F32 [2, 4] overlaps bias; expected separate memory",
                () -> Gemm.multiply(CPU, matrix(2, 3), matrix(3, 4), c, biased));
        Arena arena = Arena.ofConfined();
        Tensor own = Tensor.allocate(arena, DType.F32, Shape.of(2, 4));
        try (Compute two = Compute.threads(2)) {
            String confined =
                    ": memory of an arena confined to this thread; expected a shared, automatic or global arena, "
                            + "as this Compute has 2 threads";
            Named.message(
                    "c" + confined, () -> Gemm.multiply(two, matrix(2, 3), matrix(3, 4), own, GemmOptions.DEFAULT));
            GemmOptions bias = GemmOptions.DEFAULT.withBias(own.select(0, 0));
            Named.message("bias" + confined, () -> Gemm.multiply(two, matrix(2, 3), matrix(3, 4), matrix(2, 4), bias));
        }
        arena.close();
    }

    private static void multiply(Tensor a, PackedWeights b, Tensor c) {
        Gemm.multiply(CPU, a, b, c, GemmOptions.DEFAULT);
    }

    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }

    private static void run(Tensor a, Tensor b, Tensor c) {
        Gemm.multiply(CPU, a, b, c, GemmOptions.DEFAULT);
    }

    private static Tensor matrix(int rows, int columns) {
        return Tensor.of(new float[rows * columns], rows, columns);
    }
}
