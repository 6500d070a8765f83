package io.multihead.demo.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.ChildJvm;
import io.multihead.train.Checkpoint;
import io.multihead.train.Schedule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * One training run in 21 processes. 20 of them are halted at a random moment, within a step or while a checkpoint is
 * written.
 */
class KilledTrainingTest {
    private static final int KILLS = 20;
    private static final int STEPS = 1_000_000;
    private static final List<String> SMALL = List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");

    @TempDir
    private Path folder;

    private static TokenModel model() {
        Task.Sizes sizes = new Task.Sizes(6, 8, 4);
        return new TokenModel(new TokenModel.Config(Task.COPY, sizes, 32, 2, 1), Compute.serial(), 1);
    }

    private static Trainer trainer(TokenModel model) {
        return new Trainer(model, Trainer.adamW(model), Schedule.constant(3e-3), 4);
    }

    /**
     * The program of the other processes. It saves after every step, and ends like a killed process some time after a
     * step, without shutdown hooks and finally blocks.
     */
    public static final class Killed {
        public static void main(String[] arguments) throws IOException {
            SplittableRandom random = new SplittableRandom(Long.parseLong(arguments[1]));
            int more = random.nextInt(1, 6);
            long nanos = random.nextLong(3_000_000);
            Trainer trainer = trainer(model()).savingTo(Path.of(arguments[0]), 1);
            long last = trainer.resume() + more;
            trainer.reporting((step, loss) -> {
                if (step == last) {
                    Thread.ofPlatform().daemon().start(() -> haltAfter(nanos));
                }
            });
            trainer.train(STEPS);
            throw new IllegalStateException("trained to the end");
        }

        private static void haltAfter(long nanos) {
            long begin = System.nanoTime();
            while (System.nanoTime() - begin < nanos) {
                Thread.onSpinWait();
            }
            Runtime.getRuntime().halt(0);
        }
    }

    @Test
    void theBitsAreThoseOfTrainingThatWasNotKilled() throws IOException, InterruptedException {
        Path file = folder.resolve("checkpoint.safetensors");
        long saved = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            ChildJvm.run(Killed.class, SMALL, file.toString(), String.valueOf(kill));
            long now = Files.exists(file) ? Checkpoint.counters(file).getOrDefault("step", 0L) : 0;
            assertTrue(now >= saved, now + " steps after " + saved);
            saved = now;
        }
        assertTrue(saved > 0, "no checkpoint was written");
        long steps = saved + 3;
        TokenModel resumed = model();
        assertEquals(3, trainer(resumed).savingTo(file, 1).train(steps).size());
        TokenModel straight = model();
        assertEquals(steps, trainer(straight).train(steps).size());
        straight.parameters()
                .forEach((name, tensor) -> assertArrayEquals(
                        tensor.toArray(), resumed.parameters().get(name).toArray(), name));
    }
}
