package io.multihead.demo.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import io.multihead.train.Schedule;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tasks are compared with their definitions. Other tests check the training loop, and the checkpoint from which it
 * resumes.
 */
class TrainingTest {
    private static final Task.Sizes SIZES = new Task.Sizes(6, 8, 4);

    @TempDir
    private Path folder;

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
        // six standard deviations of 800 fair coins are 85
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

    /** In 20 runs, training fails at a random step. Up to three steps were not saved and are repeated. */
    @Test
    void trainingThatDiesAnywhereGoesOnWithTheSameBits() throws IOException {
        TokenModel straight = model(1);
        trainer(straight, null).train(24);
        SplittableRandom random = new SplittableRandom(7);
        for (int number = 0; number < 20; number++) {
            Path file = folder.resolve("died" + number + ".safetensors");
            long at = random.nextLong(1, 25);
            Trainer dying = trainer(model(1), file).reporting((step, loss) -> {
                if (step == at) {
                    throw new IllegalStateException("dies");
                }
            });
            assertThrows(IllegalStateException.class, () -> dying.train(24));
            TokenModel resumed = model(1);
            assertEquals(24 - (at - 1) / 3 * 3, trainer(resumed, file).train(24).size());
            straight.parameters()
                    .forEach((name, tensor) -> assertArrayEquals(
                            tensor.toArray(), resumed.parameters().get(name).toArray(), name));
        }
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

    private static TokenModel model(long seed) {
        return new TokenModel(new TokenModel.Config(Task.COPY, SIZES, 32, 2, 1), Compute.serial(), seed);
    }

    private static Trainer trainer(TokenModel model, Path file) {
        return trainer(model, file, 4);
    }

    private static Trainer trainer(TokenModel model, Path file, long seed) {
        Trainer trainer = new Trainer(model, Trainer.adamW(model), Schedule.cosine(5e-3, 0.1, 5, 60), seed);
        return file == null ? trainer : trainer.savingTo(file, 3);
    }
}
