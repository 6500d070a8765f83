package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.position.SinusoidalPositions;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Map;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Layers of positions and ids: their sums, gradients and errors. */
class PositionalEncodingTest {
    private static final Compute SERIAL = Compute.serial();
    private static final DType[] TYPES = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};

    /** The numbers are integers up to 100. All element types can hold them and their sums, so that nothing rounds. */
    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void tablesAreAddedAndTheirGradientsAreSums(
            @ForAll @IntRange(max = 5) int batch,
            @ForAll @IntRange(max = 6) int tokens,
            @ForAll @IntRange(max = 70) int dim,
            @ForAll Layout layout,
            @ForAll Layout results,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        DType type = TYPES[random.nextInt(TYPES.length)];
        try (Arena arena = Arena.ofConfined()) {
            Tensor table = whole(layout.allocate(arena, TYPES[random.nextInt(TYPES.length)], tokens + 2, dim), random);
            Layer layer = PositionalEncoding.of(table);
            Tensor x = whole(layout.allocate(arena, DType.F32, 1, batch, tokens, dim), random);
            Tensor y = results.allocate(arena, type, 1, batch, tokens, dim);
            Tensor dy = whole(layout.allocate(arena, type, 1, batch, tokens, dim), random);
            Tensor dx = results.allocate(arena, DType.F32, 1, batch, tokens, dim);
            Tensor gradient = whole(results.allocate(arena, type, tokens + 2, dim), random);
            Tensor before = Numbers.copy(gradient, arena, Layout.DENSE, DType.F64);
            try (Pass pass = layer.record(SERIAL, x, y)) {
                pass.backward(dy, dx, Map.of("weight", gradient));
            }
            for (int t = 0; t < tokens + 2; t++) {
                for (int j = 0; j < dim; j++) {
                    double sum = before.get(t, j);
                    for (int b = 0; b < batch && t < tokens; b++) {
                        assertEquals(x.get(0, b, t, j) + table.get(t, j), y.get(0, b, t, j));
                        assertEquals(dy.get(0, b, t, j), dx.get(0, b, t, j));
                        sum += dy.get(0, b, t, j);
                    }
                    assertEquals(sum, gradient.get(t, j));
                }
            }
            assertTrue(Layout.untouchedOutside(y) && Layout.untouchedOutside(gradient));
        }
    }

    /**
     * Fills a tensor with integers. The largest sum has six numbers of at most 40, and fits into the eight bits of
     * bf16.
     */
    private static Tensor whole(Tensor tensor, SplittableRandom random) {
        return Numbers.fill(tensor, () -> random.nextInt(-40, 41));
    }

    @Test
    void sinusoidsAreThoseOfTheFunction() {
        SplittableRandom random = new SplittableRandom(1);
        try (Compute threads = Compute.threads(3)) {
            Tensor x = Numbers.gaussian(Tensor.of(new float[2 * 5 * 33], 2, 5, 33), random, 0, 1);
            Tensor expected = Tensor.of(x.toArray(), 2, 5, 33);
            SinusoidalPositions.add(SERIAL, expected, 0);
            Tensor y = Tensor.of(new float[2 * 5 * 33], 2, 5, 33);
            PositionalEncoding.sinusoidal().forward(threads, x, y);
            assertArrayEquals(expected.toArray(), y.toArray());
            Tensor dx = Tensor.of(new float[2 * 5 * 33], 2, 5, 33);
            try (Pass pass = PositionalEncoding.sinusoidal().record(threads, x, y)) {
                pass.backward(expected, dx);
            }
            assertArrayEquals(expected.toArray(), dx.toArray());
        }
        assertTrue(PositionalEncoding.sinusoidal().parameters().isEmpty());
    }

    @Test
    void initialTablesAreSmall() {
        float[] table = PositionalEncoding.initialize(Arena.ofAuto(), 100, 50, 3)
                .parameters()
                .get("weight")
                .toArray();
        double squares = 0;
        for (float value : table) {
            squares += value * value;
        }
        // the root of a mean of 5000 squares has a standard deviation of 1 %; the bound is five standard deviations
        assertEquals(0.02, Math.sqrt(squares / table.length), 0.001);
    }

    @Test
    void errorsNameWhatDoesNotFit() {
        Tensor y = Tensor.of(new float[12], 1, 3, 4);
        Named.message(
                "x: shape [1, 3, 4]; expected [..., tokens, 4] with at most 2 tokens",
                () -> PositionalEncoding.of(Tensor.of(new float[8], 2, 4)).forward(SERIAL, y, y));
        Named.message("x: shape [4]; expected [..., tokens, dim]", () -> PositionalEncoding.sinusoidal()
                .outputShape(Shape.of(4)));
        Named.message(
                "weight: shape [8]; expected [positions, dim]", () -> PositionalEncoding.of(Tensor.of(new float[8])));
        Embedding embedding = Embedding.of(Tensor.of(new float[20], 5, 4));
        Named.message(
                "x[1]: 5.0; expected an id, 0 to 4",
                () -> embedding.forward(SERIAL, Tensor.of(new float[] {1, 5, 2}, 1, 3), y));
        Named.message(
                "x[2]: 1.5; expected an id, 0 to 4",
                () -> embedding.record(SERIAL, Tensor.of(new float[] {1, 4, 1.5f}, 1, 3), y));
        Named.message(
                "x[0]: NaN; expected an id, 0 to 4",
                () -> embedding.forward(SERIAL, Tensor.of(new float[] {Float.NaN, 0, 0}, 1, 3), y));
        Named.message(
                "x: F64 [1, 3]; expected ids in f32, which holds whole numbers below 2^24",
                () -> embedding.forward(SERIAL, Tensor.of(new double[3], 1, 3), y));
        assertArrayEquals(new float[12], y.toArray());
    }

    @Test
    void layersOfIdsHaveTheBitsOfTheirCalls() {
        Tensor table = Numbers.gaussian(Tensor.of(new float[20], 5, 4), new SplittableRandom(2), 0, 1);
        Embedding embedding = Embedding.of(table);
        Tensor expected = Tensor.of(new float[12], 1, 3, 4);
        embedding.forward(SERIAL, new int[] {4, 0, 4}, expected);
        Tensor x = Tensor.of(new float[] {4, 0, 4}, 1, 3);
        Tensor y = Tensor.of(new float[12], 1, 3, 4);
        embedding.forward(SERIAL, x, y);
        assertArrayEquals(expected.toArray(), y.toArray());
        Tensor gradient = Tensor.of(new float[20], 5, 4);
        Tensor same = Tensor.of(new float[20], 5, 4);
        embedding.backward(SERIAL, new int[] {4, 0, 4}, expected, same);
        Tensor dx = Tensor.of(new float[] {1, 2, 3}, 1, 3);
        try (Pass pass = embedding.record(SERIAL, x, y)) {
            pass.backward(expected, dx, Map.of("weight", gradient));
        }
        assertArrayEquals(same.toArray(), gradient.toArray());
        assertArrayEquals(new float[3], dx.toArray());
    }

    @Test
    void aSharedNameHasOneTensor() {
        Tensor table = Tensor.of(new float[20], 5, 4);
        Sequence tied = Sequence.of(
                new Sequence.Part("words.", Embedding.of(table)), new Sequence.Part("words.", Linear.of(table, null)));
        assertEquals(Map.of("words.weight", table), tied.parameters());
        Named.message(
                "prefix: words.; expected one tensor per name; weight has two",
                () -> Sequence.of(
                        new Sequence.Part("words.", Embedding.of(table)),
                        new Sequence.Part("words.", Linear.of(Tensor.of(new float[20], 5, 4), null))));
    }
}
