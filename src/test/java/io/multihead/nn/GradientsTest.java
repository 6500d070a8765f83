package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The norm of all gradients, clipping by this norm, multiples and zeros. */
class GradientsTest {
    private static final Compute SERIAL = Compute.serial();

    @Test
    void clippingKeepsTheDirection() {
        Map<String, Tensor> gradients =
                Map.of("a", Tensor.of(new float[] {3, 0}, 2), "b", Tensor.of(new float[] {4}, 1));
        assertEquals(5, Gradients.clip(SERIAL, gradients, 10));
        assertEquals(4, gradients.get("b").get(0));
        assertEquals(5, Gradients.clip(SERIAL, gradients, 1));
        assertArrayEquals(new float[] {3 * 0.2f, 0}, gradients.get("a").toArray());
        assertArrayEquals(new float[] {4 * 0.2f}, gradients.get("b").toArray());
    }

    @Test
    void whatIsNotFiniteIsNamedAndNothingIsScaled() {
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        gradients.put("fine", Tensor.of(new float[] {100}, 1));
        gradients.put("broken", Tensor.of(new float[] {1, Float.NaN}, 2));
        ArithmeticException thrown =
                assertThrows(ArithmeticException.class, () -> Gradients.clip(SERIAL, gradients, 1));
        assertEquals("gradient of broken: not finite; expected numbers", thrown.getMessage());
        assertEquals(100, gradients.get("fine").get(0));
    }

    /** Squares of f32 are exact in f64. The sum has n roundings, and the root has one. */
    @Test
    void theNormIsThatOfAllElementsOnAnyThreads() {
        try (Arena arena = Arena.ofShared();
                Compute threads = Compute.threads(3)) {
            SplittableRandom random = new SplittableRandom(5);
            Tensor strided =
                    Tensor.allocate(arena, DType.BF16, Shape.of(40, 300)).permute(1, 0);
            float[] values = new float[300 * 40];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) random.nextDouble(0.5, 2);
            }
            Tensor.of(values, 300, 40).copyTo(strided);
            Map<String, Tensor> gradients = Map.of(
                    "strided",
                    strided,
                    "scalar",
                    Tensor.view(Tensor.of(new float[] {2}).memory(), DType.F32, Shape.of()));
            double squares = 4;
            for (float value : strided.toArray()) {
                squares += (double) value * value;
            }
            double norm = Gradients.norm(SERIAL, gradients);
            assertEquals(Math.sqrt(squares), norm, norm * values.length * 0x1p-53);
            assertEquals(norm, Gradients.norm(threads, gradients));
        }
    }

    /** Sums of these squares differ in their last bits from order to order; the maps of the JDK without an order draw one in each JVM. */
    @Test
    void theOrderOfAMapHasNoEffect() {
        SplittableRandom random = new SplittableRandom(9);
        LinkedHashMap<String, Tensor> gradients = new LinkedHashMap<>();
        for (int i = 0; i < 30; i++) {
            gradients.put("layers." + i, Tensor.of(new float[] {(float) random.nextDouble(0.5, 2)}, 1));
        }
        double norm = Gradients.norm(SERIAL, gradients);
        List<String> names = new ArrayList<>(gradients.keySet());
        for (int order = 0; order < 50; order++) {
            Collections.shuffle(names, new Random(order));
            Map<String, Tensor> same = new LinkedHashMap<>();
            names.forEach(name -> same.put(name, gradients.get(name)));
            assertEquals(norm, Gradients.norm(SERIAL, same));
            assertEquals(norm, Gradients.clip(SERIAL, same, 100));
        }
        for (String last : List.of("layers.3", "layers.20")) {
            gradients.putLast(last, Tensor.of(new float[] {Float.NaN}, 1));
        }
        for (Map<String, Tensor> broken : List.of(gradients, gradients.reversed())) {
            ArithmeticException thrown = assertThrows(ArithmeticException.class, () -> Gradients.norm(SERIAL, broken));
            assertEquals("gradient of layers.20: not finite; expected numbers", thrown.getMessage());
        }
    }

    @Test
    void accumulatedGradientsAreDividedAndCleared() {
        Map<String, Tensor> gradients = Map.of("a", Tensor.of(new float[] {3, -6}, 2));
        Gradients.scale(SERIAL, gradients, 1.0 / 4);
        assertArrayEquals(new float[] {0.75f, -1.5f}, gradients.get("a").toArray());
        Gradients.clear(gradients);
        assertArrayEquals(new float[2], gradients.get("a").toArray());
    }

    @Test
    void wrongCallsAreNamed() {
        Map<String, Tensor> gradients = Map.of("a", Tensor.of(new float[] {3}, 1));
        refuses("most: 0.0; expected more than 0", () -> Gradients.clip(SERIAL, gradients, 0));
        refuses("factor: NaN; expected a finite f32", () -> Gradients.scale(SERIAL, gradients, Double.NaN));
        Map<String, Tensor> shared =
                Map.of("a", Tensor.view(Tensor.of(new float[] {3}).memory(), DType.F32, Shape.of(2), 0, 0));
        refuses("a: ", () -> Gradients.clip(SERIAL, shared, 1));
        refuses("ids: ", () -> Gradients.norm(SERIAL, Map.of("ids", Tensor.of(new boolean[] {true}, 1))));
        assertEquals(3, gradients.get("a").get(0));
    }

    private static void refuses(String beginning, org.junit.jupiter.api.function.Executable call) {
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, call);
        assertTrue(thrown.getMessage().startsWith(beginning), thrown.getMessage());
    }
}
