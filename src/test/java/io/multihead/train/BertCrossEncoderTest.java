package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.Reranker;
import io.multihead.encoder.ScoreActivation;
import io.multihead.encoder.TinyModel;
import io.multihead.encoder.TinyReranker;
import io.multihead.nn.Gradients;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A cross-encoder of layers: scores are compared with inference, and gradients with differences. Other tests check
 * training and folders.
 */
class BertCrossEncoderTest {
    private static final Compute CPU = Compute.serial();
    private static final List<String> FIRST = List.of("the cat", "a dog ran", "sat", "the cat", "a dog ran", "sat");
    private static final List<String> SECOND = List.of(
            "dog dog", "the sat and a long text that is cut somewhere", "and a cat", "the sat", "and a cat", "");
    private static final float[] LABELS = {1, 1, 1, 0, 0, 0.25f};
    private static final BertCrossEncoder.Pairs PAIRS = BertCrossEncoder.Pairs.of(FIRST, SECOND, LABELS);

    @TempDir
    private Path folder;

    private BertCrossEncoder load() throws IOException {
        Path path = folder.resolve("tiny");
        return BertCrossEncoder.load(Arena.ofAuto(), Files.exists(path) ? path : TinyModel.write(path), 7);
    }

    /**
     * Compares scores of texts. Both states of 21 elements after two blocks have an error of some hundred roundings,
     * like vectors. The 42 products of the head multiply the error by the sums of weights, which are at most 21 here.
     */
    private static void assertScores(Path folder, BertCrossEncoder model) throws IOException {
        float[] scores = model.scores(CPU, FIRST, SECOND);
        try (Reranker reranker = Reranker.load(CPU, folder).withActivation(ScoreActivation.IDENTITY)) {
            for (int i = 0; i < scores.length; i++) {
                assertEquals(
                        reranker.score(FIRST.get(i), SECOND.get(i)),
                        scores[i],
                        21 * 300 * 0x1p-24f * Math.max(1, Math.abs(scores[i])),
                        FIRST.get(i));
            }
        }
    }

    @Test
    void scoresAreThoseOfInference() throws IOException {
        Path path = new TinyReranker(3, 1).write(folder.resolve("reranker"));
        BertCrossEncoder model = BertCrossEncoder.load(Arena.ofAuto(), path, 1);
        assertScores(path, model);
        float[] all = model.scores(CPU, FIRST, SECOND);
        try (Compute threads = Compute.threads(3)) {
            assertArrayEquals(all, model.scores(threads, FIRST, SECOND));
        }
        for (int i = 0; i < all.length; i++) {
            assertEquals(all[i], model.scores(CPU, List.of(FIRST.get(i)), List.of(SECOND.get(i)))[0]);
        }
    }

    @Test
    void gradientsAreDifferences() throws IOException {
        BertCrossEncoder model = load();
        Map<String, Tensor> gradients = model.gradients(Arena.ofAuto(), name -> true);
        assertEquals(loss(model), model.learn(CPU, PAIRS, gradients, 0), 1e-12);
        Slopes.assertSlopes(model.parameters(), gradients, () -> {
            model.parametersChanged();
            return loss(model);
        });
    }

    private static double loss(BertCrossEncoder model) {
        float[] scores = model.scores(CPU, FIRST, SECOND);
        double loss = 0;
        for (int i = 0; i < scores.length; i++) {
            double probability = 1 / (1 + Math.exp(-(double) scores[i]));
            loss -= LABELS[i] * Math.log(probability) + (1 - LABELS[i]) * Math.log(1 - probability);
        }
        return loss / scores.length;
    }

    @Test
    void itLearnsWithTheSameBitsOnAnyThreadsAndAFolderHasThem() throws IOException {
        BertCrossEncoder model = load().withDropout(0.1);
        BertCrossEncoder other = load().withDropout(0.1);
        double before = loss(model);
        train(CPU, model);
        try (Compute threads = Compute.threads(3)) {
            train(threads, other);
        }
        model.parameters()
                .forEach((name, tensor) -> assertArrayEquals(
                        tensor.toArray(), other.parameters().get(name).toArray(), name));
        float[] scores = model.scores(CPU, FIRST, SECOND);
        assertTrue(loss(model) < before - 0.1, before + " to " + loss(model));
        Path saved = folder.resolve("saved");
        model.save(saved);
        assertFalse(Files.exists(saved.resolve("modules.json")));
        assertScores(saved, model);
        BertCrossEncoder again = BertCrossEncoder.load(Arena.ofAuto(), saved, 99);
        assertArrayEquals(scores, again.scores(CPU, FIRST, SECOND));
        assertThrows(IllegalArgumentException.class, () -> again.save(saved));
    }

    private static void train(Compute cpu, BertCrossEncoder model) {
        Map<String, Tensor> gradients = model.gradients(Arena.ofAuto(), name -> !name.startsWith("embeddings."));
        AdamW optimizer = AdamW.of(model.parameters(), AdamW.Options.DEFAULT);
        for (int step = 0; step < 120; step++) {
            Gradients.clear(gradients);
            model.learn(cpu, PAIRS, gradients, step);
            Gradients.clip(cpu, gradients, 1);
            optimizer.step(cpu, gradients, 5e-3);
            model.parametersChanged();
        }
    }

    @Test
    void whatDoesNotFitIsRefusedByName() throws IOException {
        Path several = new TinyReranker(3, 2).write(folder.resolve("several"));
        refuses("classifier.weight", () -> BertCrossEncoder.load(Arena.ofAuto(), several, 1));
        refuses("labels", () -> BertCrossEncoder.Pairs.of(FIRST, SECOND, new float[] {1, 1, 1, 0, 0, 2}));
        refuses("second", () -> BertCrossEncoder.Pairs.of(FIRST, List.of(), LABELS));
        BertCrossEncoder model = load();
        refuses("first", () -> model.scores(CPU, List.of(), List.of()));
        Map<String, Tensor> wrong = Collections.singletonMap("classifier.bias", Tensor.of(new float[2]));
        refuses("classifier.bias", () -> model.learn(CPU, PAIRS, wrong, 1));
    }

    private static void refuses(String part, org.junit.jupiter.api.function.Executable call) {
        String message = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(message.contains(part), message);
    }
}
