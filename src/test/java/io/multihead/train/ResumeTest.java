package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.nn.Gradients;
import io.multihead.support.PageCode;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The class of docs/layers.md, in the loop of docs/training.md. */
class ResumeTest {
    private static final int[] TOKENS =
            IntStream.range(0, 200).map(i -> i * i % 23).toArray();

    @TempDir
    private Path folder;

    @Test
    void trainingThatContinuesHasTheBitsOfUninterruptedTraining() throws IOException {
        Map<String, float[]> whole = train(folder.resolve("whole"), 9);
        Path file = folder.resolve("checkpoint");
        train(file, 4);
        Map<String, float[]> resumed = train(file, 9);
        assertEquals(whole.keySet(), resumed.keySet());
        whole.forEach((name, values) -> assertArrayEquals(values, resumed.get(name), name));
    }

    private static Map<String, float[]> train(Path file, int steps) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Compute cpu = Compute.serial();
            LlamaLayers model = LlamaLayers.initialize(arena, LlamaLayers.Config.of(23, 16, 2, 2), 42);
            Map<String, Tensor> gradients = Gradients.zeros(arena, model.layers());
            AdamW optimizer = AdamW.of(model.layers().parameters(), AdamW.Options.DEFAULT);
            Schedule schedule = Schedule.cosine(5e-3, 0.1, 3, 9);
            for (long step = Resume.load(file, model.layers(), optimizer); step < steps; step++) {
                Gradients.clear(gradients);
                TokenWindows.next(TOKENS, 4, 8, step).learn(cpu, model.layers(), gradients, step);
                optimizer.step(cpu, gradients, schedule.rate(step));
                model.layers().parametersChanged();
                Resume.save(file, step + 1, model.layers(), optimizer);
            }
            return model.layers().parameters().entrySet().stream()
                    .collect(Collectors.toMap(
                            Map.Entry::getKey, entry -> entry.getValue().toArray()));
        }
    }

    @Test
    void thePageHasThisCode() throws IOException {
        PageCode.isTested(Path.of("docs/layers.md"), Path.of("src/test/java/io/multihead/train/Resume.java"), "Resume");
    }
}
