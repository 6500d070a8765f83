package io.multihead.demo.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Optimisers against their formulas, tasks against their definitions, checkpoints against crashes. */
class TrainingTest {
    private static final Task.Sizes SIZES = new Task.Sizes(6, 8, 4);

    @TempDir
    private Path folder;

    @Test
    void adamWFollowsItsFormula() {
        Map<String, Tensor> parameters = Map.of("weight", Tensor.of(new float[] {1, -2}, 2));
        AdamW optimizer = new AdamW(parameters, 0.1, _ -> true);
        double[] p = {1, -2};
        double[] m = new double[2];
        double[] v = new double[2];
        for (int t = 1; t <= 20; t++) {
            float[] g = {0.5f * t, -0.25f};
            optimizer.step(parameters, Map.of("weight", Tensor.of(g, 2)), 0.01);
            for (int i = 0; i < 2; i++) {
                p[i] *= 1 - 0.01 * 0.1;
                m[i] = 0.9 * m[i] + 0.1 * g[i];
                v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
                p[i] -= 0.01 * (m[i] / (1 - Math.pow(0.9, t))) / (Math.sqrt(v[i] / (1 - Math.pow(0.999, t))) + 1e-8);
            }
            for (int i = 0; i < 2; i++) {
                // about ten f32 roundings a step, of numbers of at most 2
                assertEquals(p[i], parameters.get("weight").get(i), 10 * t * 2 * 0x1p-24);
            }
        }
    }

    @Test
    void whatDoesNotDecayMovesByTheGradientAlone() {
        Map<String, Tensor> parameters = Map.of("bias", Tensor.of(new float[] {5}, 1));
        new AdamW(parameters, 0.5, name -> !name.equals("bias"))
                .step(parameters, Map.of("bias", Tensor.of(new float[] {0}, 1)), 0.1);
        assertEquals(5, parameters.get("bias").get(0));
    }

    @Test
    void sgdKeepsItsVelocity() {
        Map<String, Tensor> parameters = Map.of("w", Tensor.of(new float[] {0}, 1));
        Sgd optimizer = new Sgd(parameters, 0.5);
        for (double expected : new double[] {-1, -2.5, -4.25}) {
            optimizer.step(parameters, Map.of("w", Tensor.of(new float[] {1}, 1)), 1);
            assertEquals(expected, parameters.get("w").get(0));
        }
    }

    @Test
    void aParameterWithoutAGradientIsFrozen() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        for (String name : List.of("moves", "frozen", "moves too")) {
            parameters.put(name, Tensor.of(new float[] {1}, 1));
        }
        Map<String, Tensor> gradients = new LinkedHashMap<>(parameters);
        gradients.remove("frozen");
        gradients.replaceAll((name, tensor) -> Tensor.of(new float[] {1}, 1));
        new AdamW(parameters, 0.5, _ -> true).step(parameters, gradients, 0.1);
        new Sgd(parameters, 0).step(parameters, gradients, 0.1);
        assertTrue(parameters.get("moves").get(0) < 0.9);
        assertEquals(1, parameters.get("frozen").get(0));
        assertTrue(parameters.get("moves too").get(0) < 0.9);
    }

    @Test
    void aModelWithFewerHeadsCanBeTrained() throws IOException {
        TokenModel whole = model(1);
        float[] before =
                whole.parameters().get("layers.0.self_attn.in_proj_weight").toArray();
        TokenModel pruned = whole.keepHeads(List.of(new int[] {1}));
        Map<String, Tensor> gradients = pruned.gradients();
        assertEquals(whole.parameters().keySet(), pruned.parameters().keySet());
        pruned.parameters()
                .forEach((name, tensor) -> assertEquals(gradients.get(name).shape(), tensor.shape(), name));
        assertEquals(2, trainer(pruned, null).train(2).size());
        assertArrayEquals(
                before,
                whole.parameters().get("layers.0.self_attn.in_proj_weight").toArray());
    }

    @Test
    void clippingKeepsTheDirection() {
        Map<String, Tensor> gradients =
                Map.of("a", Tensor.of(new float[] {3, 0}, 2), "b", Tensor.of(new float[] {4}, 1));
        assertEquals(5, Clipping.clip(gradients, 10));
        assertEquals(4, gradients.get("b").get(0));
        assertEquals(5, Clipping.clip(gradients, 1));
        assertEquals(0.6f, (float) gradients.get("a").get(0));
        Map<String, Tensor> broken = Map.of("c", Tensor.of(new float[] {1, Float.NaN}, 2));
        ArithmeticException thrown = assertThrows(ArithmeticException.class, () -> Clipping.clip(broken, 1));
        assertEquals("gradient of c: not finite; expected numbers", thrown.getMessage());
        assertEquals(1, broken.get("c").get(0));
    }

    @Test
    void schedulesRiseAndFall() {
        Schedule schedule = Schedule.cosine(1, 10, 110);
        assertEquals(0.1, schedule.rate(0), 1e-12);
        assertEquals(1, schedule.rate(9), 1e-12);
        assertEquals(1, schedule.rate(10), 1e-12);
        assertEquals(0.55, schedule.rate(60), 1e-12);
        assertEquals(0.1, schedule.rate(110), 1e-12);
        assertEquals(0.1, schedule.rate(1000), 1e-12);
    }

    @Test
    void tasksAreWhatTheySay() {
        int again = 0;
        for (int step = 0; step < 200; step++) {
            Task.Batch copy = Task.COPY.batch(SIZES, 3, step);
            Task.Batch recall = Task.RECALL.batch(SIZES, 3, step);
            for (int b = 0; b < 4; b++) {
                for (int i = 0; i < 4; i++) {
                    assertEquals(Task.IGNORED, copy.targets()[b * 8 + i]);
                    assertEquals(copy.tokens()[b * 8 + i], copy.targets()[b * 8 + 4 + i]);
                }
                int first = recall.tokens()[b * 8];
                boolean found = false;
                for (int i = 1; i < 8; i++) {
                    found |= recall.tokens()[b * 8 + i] == first;
                }
                assertEquals(found ? 1 : 0, recall.targets()[b * 8]);
                again += found ? 1 : 0;
            }
        }
        // 800 fair coins: six standard deviations are 85
        assertEquals(400, again, 85);
        assertArrayEquals(
                Task.COPY.batch(SIZES, 3, 5).tokens(),
                Task.COPY.batch(SIZES, 3, 5).tokens());
    }

    @Test
    void theModelLearns() throws IOException {
        Task.Sizes sizes = new Task.Sizes(6, 8, 16);
        TokenModel model = new TokenModel(new TokenModel.Config(Task.COPY, sizes, 32, 2, 1), Compute.serial(), 1);
        Trainer trainer = new Trainer(model, Trainer.adamW(model), Schedule.constant(3e-3), 4);
        List<Double> losses = trainer.train(200);
        assertEquals(200, trainer.done());
        assertTrue(losses.get(199) < losses.get(0) / 2, losses.toString());
    }

    @Test
    void resumingIsBitExact() throws IOException {
        TokenModel straight = model(1);
        List<Double> all = trainer(straight, null).train(9);
        Path file = folder.resolve("checkpoint.safetensors");
        trainer(model(1), file).train(6);
        TokenModel resumed = model(99);
        List<Double> rest = trainer(resumed, file).train(9);
        assertEquals(all.subList(6, 9), rest);
        straight.parameters()
                .forEach((name, tensor) -> assertArrayEquals(
                        tensor.toArray(), resumed.parameters().get(name).toArray(), name));
    }

    @Test
    void anotherSeedIsRefused() throws IOException {
        Path file = folder.resolve("seed.safetensors");
        trainer(model(1), file).train(3);
        TokenModel other = model(2);
        float[] before = other.parameters().get("head.weight").toArray();
        Trainer trainer = trainer(other, file, -5);
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, () -> trainer.train(6));
        assertEquals(file + ": begun with seed 4; expected seed -5, with which it is resumed", thrown.getMessage());
        assertEquals(0, trainer.done());
        assertArrayEquals(before, other.parameters().get("head.weight").toArray());
    }

    @Test
    void aCheckpointWithoutASeedIsTakenWithAny() throws IOException {
        Path file = folder.resolve("earlier.safetensors");
        trainer(model(1), file).train(3);
        rewrite(file, (tensors, metadata) -> assertEquals("4", metadata.remove("seed")));
        assertEquals(3, trainer(model(2), file, 5).resume());
    }

    @Test
    void aCheckpointOfAnotherTypeOrAnImpossibleStepIsRefused() throws IOException {
        Path file = folder.resolve("changed.safetensors");
        trainer(model(1), file).train(3);
        TokenModel other = model(2);
        float[] before = other.parameters().get("head.bias").toArray();
        rewrite(file, (tensors, metadata) -> metadata.put("step", "-5"));
        refuses(file, other.config().architecture(), other, "step -5; expected at least 0");
        rewrite(file, (tensors, metadata) -> {
            metadata.put("step", "3");
            tensors.compute("parameter.head.bias", (name, bias) -> bias.copy(Arena.ofAuto(), DType.F16));
        });
        refuses(file, other.config().architecture(), other, "parameter.head.bias of F16; expected F32");
        assertArrayEquals(before, other.parameters().get("head.bias").toArray());
    }

    private static void rewrite(Path file, BiConsumer<Map<String, Tensor>, Map<String, String>> change)
            throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(file, arena);
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            saved.names().forEach(name -> tensors.put(name, saved.get(name)));
            Map<String, String> metadata = new LinkedHashMap<>(saved.metadata());
            change.accept(tensors, metadata);
            Safetensors.write(file, tensors, metadata);
        }
    }

    @Test
    void stoppingSavesWhatWasDone() throws IOException {
        Path file = folder.resolve("stopped.safetensors");
        Trainer trainer = trainer(model(1), file);
        trainer.reporting((step, loss) -> {
            if (step == 4) {
                trainer.stop();
            }
        });
        assertEquals(4, trainer.train(100).size());
        Trainer next = trainer(model(2), file);
        assertEquals(2, next.train(6).size());
    }

    @Test
    void anotherArchitectureOrABrokenFileChangesNothing() throws IOException {
        Path file = folder.resolve("a.safetensors");
        TokenModel model = model(1);
        Checkpoint.save(file, "one", 4, 3, model.parameters(), Trainer.adamW(model));
        TokenModel other = model(2);
        float[] before = other.parameters().get("head.weight").toArray();
        refuses(file, "two", other, "architecture one; expected two");
        byte[] whole = Files.readAllBytes(file);
        for (int length : new int[] {0, 7, 100, whole.length / 2, whole.length - 1}) {
            Files.write(file, java.util.Arrays.copyOf(whole, length));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> Checkpoint.load(file, "one", 4, other.parameters(), Trainer.adamW(other)));
        }
        Checkpoint.save(file, "one", 4, 3, Map.of("w", Tensor.of(new float[] {1}, 1)), new Sgd(Map.of(), 0));
        refuses(file, "one", other, "expected");
        assertArrayEquals(before, other.parameters().get("head.weight").toArray());
        assertThrows(
                IOException.class,
                () -> Checkpoint.load(folder.resolve("none"), "one", 4, other.parameters(), Trainer.adamW(other)));
    }

    private static void refuses(Path file, String architecture, TokenModel model, String part) {
        IllegalArgumentException thrown = assertThrows(
                IllegalArgumentException.class,
                () -> Checkpoint.load(file, architecture, 4, model.parameters(), Trainer.adamW(model)));
        assertTrue(thrown.getMessage().startsWith(file.toString()), thrown.getMessage());
        assertTrue(thrown.getMessage().contains(part), thrown.getMessage());
    }

    @Test
    void aCrashWhileSavingLeavesTheFormerFile() throws IOException {
        Path file = folder.resolve("b.safetensors");
        TokenModel model = model(1);
        Checkpoint.save(file, "one", 4, 3, model.parameters(), Trainer.adamW(model));
        byte[] before = Files.readAllBytes(file);
        Arena arena = Arena.ofConfined();
        Tensor gone = Tensor.allocate(arena, DType.F32, Shape.of(1 << 16));
        arena.close();
        assertThrows(
                IllegalStateException.class,
                () -> Checkpoint.save(
                        file, "one", 4, 4, Map.of("a", Tensor.of(new float[9], 9), "b", gone), new Sgd(Map.of(), 0)));
        assertArrayEquals(before, Files.readAllBytes(file));
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.count(), "nothing half-written is left");
        }
        assertFalse(Files.exists(folder.resolve("none")));
    }

    private static TokenModel model(long seed) {
        return new TokenModel(new TokenModel.Config(Task.COPY, SIZES, 32, 2, 1), Compute.serial(), seed);
    }

    private static Trainer trainer(TokenModel model, Path file) {
        return trainer(model, file, 4);
    }

    private static Trainer trainer(TokenModel model, Path file, long seed) {
        Trainer trainer = new Trainer(model, Trainer.adamW(model), Schedule.cosine(5e-3, 5, 60), seed);
        return file == null ? trainer : trainer.savingTo(file, 3);
    }
}
