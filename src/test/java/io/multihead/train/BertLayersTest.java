package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TinyModel;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A BERT encoder of layers: vectors are compared with inference, and gradients with differences. Other tests check
 * written and read folders, and training.
 */
class BertLayersTest {
    private static final Compute CPU = Compute.serial();
    private static final List<String> TEXTS = List.of("the cat sat", "a dog", "the the dog ran and sat", "");

    @TempDir
    private Path folder;

    @TempDir
    private Path other;

    @BeforeEach
    void write() throws IOException {
        TinyModel.write(folder);
    }

    private BertLayers load(Path from) throws IOException {
        return BertLayers.load(Arena.ofAuto(), from);
    }

    /** Both vectors have an error of some hundred roundings. The elements of normalized vectors are below 1. */
    @Test
    void vectorsAreThoseOfInference() throws IOException {
        Tensor vectors = load(folder).embed(CPU, TEXTS);
        try (SentenceEncoder encoder = SentenceEncoder.load(CPU, folder)) {
            for (int text = 0; text < TEXTS.size(); text++) {
                assertArrayEquals(
                        unit(encoder.embed(TEXTS.get(text))),
                        unit(vectors.select(0, text).toArray()),
                        300 * 0x1p-24f,
                        TEXTS.get(text));
            }
        }
        try (BertPass pass = load(folder).record(CPU, TEXTS, 1)) {
            assertArrayEquals(vectors.toArray(), pass.vectors().toArray());
        }
    }

    private static float[] unit(float[] vector) {
        double squares = 0;
        for (float value : vector) {
            squares += value * value;
        }
        float[] unit = vector.clone();
        for (int i = 0; i < unit.length; i++) {
            unit[i] = (float) (vector[i] / Math.sqrt(squares));
        }
        return unit;
    }

    @Test
    void bitsDoNotDependOnThreadsOrTheBatch() throws IOException {
        BertLayers layers = load(folder);
        Tensor all = layers.embed(CPU, TEXTS);
        try (Compute threads = Compute.threads(3)) {
            assertArrayEquals(all.toArray(), layers.embed(threads, TEXTS).toArray());
        }
        for (int text = 0; text < TEXTS.size(); text++) {
            assertArrayEquals(
                    all.select(0, text).toArray(),
                    layers.embed(CPU, List.of(TEXTS.get(text))).toArray());
        }
    }

    @Test
    void gradientsAreDifferences() throws IOException {
        BertLayers layers = load(folder);
        float[] given = draw(new SplittableRandom(3), TEXTS.size() * layers.dim());
        Map<String, Tensor> gradients = layers.gradients(Arena.ofAuto(), name -> true);
        try (BertPass pass = layers.record(CPU, TEXTS, 1)) {
            pass.backward(Tensor.of(given, TEXTS.size(), layers.dim()), gradients);
        }
        Slopes.assertSlopes(layers.parameters(), gradients, () -> {
            layers.parametersChanged();
            float[] vectors = layers.embed(CPU, TEXTS).toArray();
            double loss = 0;
            for (int i = 0; i < vectors.length; i++) {
                loss += (double) vectors[i] * given[i];
            }
            return loss;
        });
    }

    @Test
    void aFolderThereAndBackHasTheSameVectors() throws IOException {
        Path copy = other.resolve("copy");
        load(folder).save(copy);
        try (SentenceEncoder before = SentenceEncoder.load(CPU, folder);
                SentenceEncoder after = SentenceEncoder.load(CPU, copy)) {
            for (String text : TEXTS) {
                assertArrayEquals(before.embed(text), after.embed(text));
            }
        }
        assertArrayEquals(
                load(folder).embed(CPU, TEXTS).toArray(),
                load(copy).embed(CPU, TEXTS).toArray());
        refuses("folder: ", () -> load(folder).save(folder));
    }

    /**
     * An unreadable nested folder, such as lost+found of a file system, does not belong to the model. Root can read it.
     */
    @Test
    void aFolderThatNobodyMayReadIsNotCopied() throws IOException {
        Path locked = Files.createDirectories(folder.resolve("lost+found"));
        Files.setPosixFilePermissions(locked, Set.of());
        try {
            load(folder).save(other.resolve("copy"));
        } finally {
            Files.setPosixFilePermissions(locked, PosixFilePermissions.fromString("rwx------"));
        }
        assertTrue(Files.exists(other.resolve("copy/1_Pooling/config.json")));
        assertArrayEquals(
                load(folder).embed(CPU, TEXTS).toArray(),
                load(other.resolve("copy")).embed(CPU, TEXTS).toArray());
    }

    /** After some steps, similar texts of pairs have similar vectors. Parameters without a gradient do not change. */
    @Test
    void trainingBringsPairsTogether() throws IOException {
        BertLayers layers = load(folder);
        List<String> questions = List.of("the cat", "a dog ran", "sat");
        List<String> answers = List.of("dog dog", "the sat", "and a cat");
        float[] positions = layers.parameters().get(BertSizes.POSITIONS).toArray();
        Map<String, Tensor> gradients = layers.gradients(Arena.ofAuto(), name -> !name.equals(BertSizes.POSITIONS));
        AdamW optimizer = AdamW.of(layers.parameters(), AdamW.Options.DEFAULT.withDecay(0, name -> false));
        double first = step(layers, questions, answers, gradients, optimizer, 0);
        double last = first;
        for (int step = 1; step < 100; step++) {
            last = step(layers, questions, answers, gradients, optimizer, step);
        }
        assertTrue(last < first / 4, first + " to " + last);
        assertArrayEquals(
                positions, layers.parameters().get(BertSizes.POSITIONS).toArray());
        layers.save(other.resolve("tuned"));
        try (SentenceEncoder before = SentenceEncoder.load(CPU, folder);
                SentenceEncoder after = SentenceEncoder.load(CPU, other.resolve("tuned"))) {
            assertNotEquals(before.embed("the cat")[0], after.embed("the cat")[0]);
        }
    }

    private static double step(
            BertLayers layers,
            List<String> questions,
            List<String> answers,
            Map<String, Tensor> gradients,
            AdamW optimizer,
            long step) {
        try (BertPass left = layers.record(CPU, questions, 2 * step);
                BertPass right = layers.record(CPU, answers, 2 * step + 1)) {
            Tensor ofLeft = zeros(left.vectors());
            Tensor ofRight = zeros(right.vectors());
            double loss = EmbeddingLoss.of().multipleNegatives(20, left.vectors(), right.vectors(), ofLeft, ofRight);
            io.multihead.nn.Gradients.clear(gradients);
            left.backward(ofLeft, gradients);
            right.backward(ofRight, gradients);
            optimizer.step(CPU, gradients, 2e-3);
            layers.parametersChanged();
            return loss;
        }
    }

    @Test
    void dropoutDropsInTrainingAlone() throws IOException {
        BertLayers layers = load(folder).withDropout(0.5);
        assertArrayEquals(
                load(folder).embed(CPU, TEXTS).toArray(),
                layers.embed(CPU, TEXTS).toArray());
        try (BertPass one = layers.record(CPU, TEXTS, 1);
                BertPass same = layers.record(CPU, TEXTS, 1);
                BertPass another = layers.record(CPU, TEXTS, 2)) {
            assertArrayEquals(one.vectors().toArray(), same.vectors().toArray());
            assertNotEquals(one.vectors().get(0, 0), another.vectors().get(0, 0));
        }
    }

    @Test
    void otherModelsAreRefusedByFileAndSetting() throws IOException {
        refusesSetting("\"model_type\": \"bert\"", "\"model_type\": \"roberta\"", "model_type");
        refusesSetting("\"hidden_act\": \"gelu\"", "\"hidden_act\": \"relu\"", "hidden_act");
        // if several settings are wrong, the error names the type of the model
        Path config = folder.resolve("config.json");
        String bert = Files.readString(config);
        Files.writeString(
                config,
                bert.replace("\"bert\"", "\"llama\"")
                        .replace("\"gelu\"", "\"silu\"")
                        .replace("\"absolute\"", "\"rotary\""));
        refuses(config + ": config.model_type: llama; expected bert", () -> load(folder));
        Files.writeString(config, bert);
        BertLayers layers = load(folder);
        refuses(
                "trained: true for no parameter; expected true for some of embeddings.word_embeddings.weight, ",
                () -> layers.gradients(Arena.ofAuto(), name -> name.startsWith("bert.")));
        refuses("texts: none; expected one or more", () -> load(folder).embed(CPU, List.of()));
        Path modules = folder.resolve("modules.json");
        if (Files.exists(modules)) {
            String kept = Files.readString(modules);
            Files.writeString(modules, kept.replace("models.Pooling", "models.Dense"));
            refuses(modules + ": modules.type: sentence_transformers.models.Dense", () -> load(folder));
            Files.writeString(modules, kept);
        }
        Path weights = folder.resolve("model.safetensors");
        assertTrue(Files.exists(weights));
        Files.delete(weights);
        assertThrows(IOException.class, () -> load(folder));
        assertFalse(Files.exists(other.resolve("copy")));
    }

    private void refusesSetting(String from, String to, String named) throws IOException {
        Path config = folder.resolve("config.json");
        String kept = Files.readString(config);
        String changed = kept.replaceAll(from.replace(": ", "\\s*:\\s*"), to);
        assertNotEquals(kept, changed, from);
        Files.writeString(config, changed);
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, () -> load(folder));
        assertTrue(thrown.getMessage().startsWith(config + ": "), thrown.getMessage());
        assertTrue(thrown.getMessage().contains(named), thrown.getMessage());
        Files.writeString(config, kept);
    }

    private static void refuses(String beginning, org.junit.jupiter.api.function.Executable call) {
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, call);
        assertTrue(thrown.getMessage().startsWith(beginning), thrown.getMessage());
    }

    private static Tensor zeros(Tensor like) {
        return Tensor.of(new float[(int) like.shape().elements()], like.shape().toArray());
    }

    private static float[] draw(SplittableRandom random, int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextDouble(-1, 1);
        }
        return values;
    }
}
