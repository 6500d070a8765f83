package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.demo.train.PairModel;
import io.multihead.demo.train.RerankModel;
import io.multihead.demo.train.Trainer;
import io.multihead.encoder.Reranker;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TinyModel;
import io.multihead.support.CpuTime;
import io.multihead.train.AdamW;
import io.multihead.train.BertCrossEncoder;
import io.multihead.train.BertLayers;
import io.multihead.train.Schedule;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Fine-tuning from the command line: a small model is trained on the pairs of a file. */
class FinetuneTest {
    @TempDir
    private Path folder;

    private Path model;
    private Path pairs;

    @BeforeEach
    void write() throws IOException {
        model = TinyModel.write(folder.resolve("tiny"));
        pairs = folder.resolve("pairs.tsv");
        Files.writeString(pairs, "a b\tb c\nd e\te f\tf d\ng h\th i\nj k\tk l\nm\tn o\np q\tq r\nz\tb c\n");
    }

    /** Texts of held-out fables are not in the training data, and no positive contains its anchor. */
    @Test
    void heldOutFablesAreNotLearnedFrom() throws IOException {
        PairData fables = PairData.fables(true);
        Set<String> learned = new HashSet<>();
        fables.trained().forEach(pair -> learned.add(pair.group()));
        assertEquals(34, learned.size());
        fables.heldOut().forEach(pair -> assertFalse(learned.contains(pair.group()), pair.group()));
        fables.trained().stream()
                .filter(pair -> !pair.anchor().equals(pair.group())) // the text of a fable may contain its title
                .forEach(pair -> assertFalse(pair.positive().contains(pair.anchor()), pair.anchor()));
        fables.heldOut().forEach(pair -> assertFalse(pair.positive().contains(pair.anchor()), pair.anchor()));
    }

    @Test
    void theModelIsWrittenAndLoads() throws IOException {
        assertEquals(0, run("--out", folder.resolve("out").toString(), "--steps", "4"));
        try (Compute cpu = Compute.serial();
                SentenceEncoder before = SentenceEncoder.load(cpu, model);
                SentenceEncoder after = SentenceEncoder.load(cpu, folder.resolve("out/model"))) {
            assertTrue(before.embed("a b")[0] != after.embed("a b")[0]);
        }
    }

    @Test
    void aRerankerIsWrittenAndLoads() throws IOException {
        String out = folder.resolve("out").toString();
        assertEquals(0, run("--kind", "RERANKER", "--batch", "3", "--out", out, "--steps", "4"));
        try (Compute cpu = Compute.serial();
                Reranker reranker = Reranker.load(cpu, folder.resolve("out/model"))) {
            double score = reranker.score("a b", "b c");
            assertTrue(score > 0 && score < 1, score + " of a sigmoid");
        }
    }

    /** Cross-encoders also resume with the same bits. */
    @Test
    void resumedRerankersHaveTheSameBits() throws IOException {
        try (Arena arena = Arena.ofShared()) {
            BertCrossEncoder straight = BertCrossEncoder.load(arena, model, 3).withDropout(0.1);
            trainer(straight, folder.resolve("straight")).train(6);
            for (int stop = 1; stop < 6; stop += 2) {
                Path checkpoint = folder.resolve("stopped" + stop);
                trainer(BertCrossEncoder.load(arena, model, 3).withDropout(0.1), checkpoint)
                        .train(stop);
                BertCrossEncoder resumed =
                        BertCrossEncoder.load(arena, model, 3).withDropout(0.1);
                trainer(resumed, checkpoint).train(6);
                straight.parameters()
                        .forEach((name, tensor) -> assertArrayEquals(
                                tensor.toArray(), resumed.parameters().get(name).toArray(), name));
            }
        }
    }

    private Trainer trainer(BertCrossEncoder reranker, Path checkpoint) throws IOException {
        RerankModel learner =
                new RerankModel(reranker, Compute.serial(), PairData.read(pairs).trained(), 3);
        AdamW optimizer = AdamW.of(learner.parameters(), AdamW.Options.DEFAULT);
        return new Trainer(learner, optimizer, Schedule.linear(1e-3, 1, 6), 5).savingTo(checkpoint, 100);
    }

    /**
     * Eight steps without an interruption have the same bits as eight steps that are stopped after each possible number
     * of steps and resumed from the checkpoint in another model.
     */
    @Test
    void resumedTrainingHasTheSameBits() throws IOException {
        try (Arena arena = Arena.ofShared()) {
            BertLayers straight = BertLayers.load(arena, model).withDropout(0.1);
            trainer(straight, folder.resolve("straight")).train(8);
            for (int stop = 1; stop < 8; stop++) {
                Path checkpoint = folder.resolve("stopped" + stop);
                trainer(BertLayers.load(arena, model).withDropout(0.1), checkpoint)
                        .train(stop);
                BertLayers resumed = BertLayers.load(arena, model).withDropout(0.1);
                assertEquals(8 - stop, trainer(resumed, checkpoint).train(8).size());
                straight.parameters()
                        .forEach((name, tensor) -> assertArrayEquals(
                                tensor.toArray(), resumed.parameters().get(name).toArray(), name));
            }
        }
    }

    /**
     * In 20 runs, training ends at a random step. It resumes from the checkpoint, which is saved after every second
     * step.
     */
    @Test
    void trainingThatDiesAnywhereGoesOnWithTheSameBits() throws IOException {
        try (Arena arena = Arena.ofShared()) {
            BertLayers straight = BertLayers.load(arena, model).withDropout(0.1);
            trainer(straight, folder.resolve("straight")).train(8);
            SplittableRandom random = new SplittableRandom(7);
            for (int number = 0; number < 20; number++) {
                Path checkpoint = folder.resolve("died" + number);
                long at = random.nextLong(1, 9);
                Trainer dying = trainer(BertLayers.load(arena, model).withDropout(0.1), checkpoint)
                        .savingTo(checkpoint, 2)
                        .reporting((step, loss) -> {
                            if (step == at) {
                                throw new IllegalStateException("dies");
                            }
                        });
                assertThrows(IllegalStateException.class, () -> dying.train(8));
                BertLayers resumed = BertLayers.load(arena, model).withDropout(0.1);
                assertEquals(
                        8 - (at - 1) / 2 * 2,
                        trainer(resumed, checkpoint).train(8).size());
                straight.parameters()
                        .forEach((name, tensor) -> assertArrayEquals(
                                tensor.toArray(), resumed.parameters().get(name).toArray(), name));
            }
        }
    }

    @Test
    void frozenLayersStayAsTheyAre() throws IOException {
        try (Arena arena = Arena.ofShared()) {
            BertLayers untrained = BertLayers.load(arena, model);
            BertLayers trained = BertLayers.load(arena, model);
            trainer(trained, folder.resolve("frozen")).train(2);
            Set<String> changed = new HashSet<>();
            untrained.parameters().forEach((name, tensor) -> {
                if (!Arrays.equals(
                        tensor.toArray(), trained.parameters().get(name).toArray())) {
                    changed.add(name);
                }
            });
            assertTrue(changed.size() > 10, changed.toString());
            changed.forEach(name -> assertTrue(name.startsWith("encoder.layer.1."), name));
        }
    }

    private Trainer trainer(BertLayers encoder, Path checkpoint) throws IOException {
        PairModel learner =
                new PairModel(encoder, Compute.serial(), PairData.read(pairs).trained(), 3, 1);
        AdamW optimizer = AdamW.of(learner.parameters(), AdamW.Options.DEFAULT);
        return new Trainer(learner, optimizer, Schedule.linear(1e-3, 1, 8), 5).savingTo(checkpoint, 100);
    }

    @Test
    void wrongOptionsAndFilesEndWithTheirNames() throws IOException {
        assertEquals(0, Finetune.run("--help"));
        assertEquals(2, run("--steps", "0"));
        assertEquals(2, run("--batch", "1"));
        assertEquals(2, run("--dropout", "1"));
        assertEquals(2, run("--layers", "0"));
        assertPairsFail("no tab\n", "line 1: no tab; expected an anchor and its positive, with a tab between them");
        assertPairsFail("one\ttwo\n \tthree\n", "line 2: anchor without words; expected a text");
        assertPairsFail("one\ttwo\nthree\t \n", "line 2: positive without words; expected a text");
        assertPairsFail("one\ttwo\nthree\tfour\tfive\t\n", "line 2: hard negative without words; expected a text");
        String few =
                " different positives; expected at least 3: one is held out, and the others are each other's negatives";
        assertPairsFail("", "0" + few);
        assertPairsFail("one\ttwo\nthree\tfour\nfive\tfour\n", "2" + few);
    }

    /** Searching each line's group among all groups took time that grew with the square of the lines. */
    @Test
    void aFileOfManyPairsIsReadInLinearTime() throws Exception {
        Files.writeString(
                pairs,
                IntStream.range(0, 150_000).mapToObj(i -> "a\t" + i + "\n").collect(Collectors.joining()));
        PairData data = CpuTime.within(10, () -> PairData.read(pairs));
        assertEquals(50_000, data.heldOut().size());
        assertEquals(100_000, data.trained().size());
        assertEquals("0", data.heldOut().getFirst().positive());
    }

    private void assertPairsFail(String lines, String message) throws IOException {
        Files.writeString(pairs, lines);
        assertRefused(
                1,
                "finetune: " + pairs + ": " + message,
                "--out",
                folder.resolve("out").toString());
    }

    /** Requires that the command ends with a code and one message without a computation. */
    private void assertRefused(int code, String message, String... more) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine command = Finetune.command().setOut(new PrintWriter(out)).setErr(new PrintWriter(err, true));
        assertEquals(code, command.execute(arguments(more)), err.toString());
        assertEquals(message, err.toString().lines().findFirst().orElse(""));
        assertEquals("", out.toString());
    }

    /** Texts of files of any length are embedded in parts, with the same bits as each text alone. */
    @Test
    void manyTextsHaveTheVectorsOfEachAlone() throws IOException {
        BertLayers encoder = BertLayers.load(Arena.ofAuto(), model);
        List<String> texts = IntStream.range(0, 70)
                .mapToObj(i -> "a b " + (char) ('a' + i % 26))
                .toList();
        float[][] together = PairData.units(Compute.serial(), encoder, texts);
        for (int i = 0; i < texts.size(); i++) {
            assertArrayEquals(PairData.units(Compute.serial(), encoder, List.of(texts.get(i)))[0], together[i]);
        }
    }

    /**
     * The result states the number of steps that were done. This number differs from the requested number if training
     * was interrupted, or if the checkpoint has more steps.
     */
    @Test
    void theStepsThatWereDoneAreNamed() {
        Path checkpoint = folder.resolve("checkpoint");
        for (int steps = 3; steps >= 2; steps--) {
            StringWriter lines = new StringWriter();
            CommandLine command = Finetune.command().setOut(new PrintWriter(lines));
            assertEquals(
                    0,
                    command.execute(
                            "--model",
                            model.toString(),
                            "--pairs",
                            pairs.toString(),
                            "--out",
                            folder.resolve("out").toString(),
                            "--checkpoint",
                            checkpoint.toString(),
                            "--steps",
                            String.valueOf(steps)));
            assertTrue(lines.toString().contains("% after 3 of " + steps + " steps"), lines.toString());
        }
    }

    /** A result that cannot be written is refused before training. */
    @Test
    void pathsThatCannotBeWrittenAreRefusedBeforeTraining() throws IOException {
        String out = folder.resolve("out").toString();
        Path own =
                TinyModel.write(Files.createDirectories(folder.resolve("out")).resolve("model"));
        model = own;
        assertRefused(2, "--out: " + out + "; expected a folder whose subfolder model is not --model", "--out", out);
        model = folder.resolve("tiny");
        assertRefused(2, "--checkpoint: " + out + "; expected a file, not a folder", "--out", out, "--checkpoint", out);
        String nowhere = folder.resolve("none").resolve("checkpoint").toString();
        assertRefused(
                2,
                "--checkpoint: " + nowhere + "; expected a file in a writable folder",
                "--out",
                out,
                "--checkpoint",
                nowhere);
        String file = Files.writeString(folder.resolve("file"), "in the way").toString();
        assertRefused(2, "--out: " + file + "; expected a writable folder", "--out", file);
        Path taken = Files.createDirectories(folder.resolve("taken"));
        Files.writeString(taken.resolve("model"), "in the way");
        assertRefused(
                2, "--out: " + taken.resolve("model") + "; expected a writable folder", "--out", taken.toString());
    }

    private int run(String... more) {
        return Finetune.run(arguments(more));
    }

    private String[] arguments(String... more) {
        String[] all = new String[more.length + 4];
        System.arraycopy(new String[] {"--model", model.toString(), "--pairs", pairs.toString()}, 0, all, 0, 4);
        System.arraycopy(more, 0, all, 4, more.length);
        return all;
    }
}
