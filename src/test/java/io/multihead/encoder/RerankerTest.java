package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.run.PairFormat;
import io.multihead.internal.encoder.run.RerankRun;
import io.multihead.internal.load.Loading;
import io.multihead.support.WarmCalls;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Results, errors and allocations of a reranker with a tiny model. {@link RerankerProperties} compares scores with the specification. */
class RerankerTest {
    private static final TinyReranker MODEL = new TinyReranker(1, 1);

    @TempDir
    Path folder;

    private Reranker reranker;

    @BeforeEach
    void load() throws IOException {
        reranker = Reranker.load(Compute.serial(), MODEL.write(folder));
    }

    @Test
    void aFolderSaysHow() {
        assertEquals(1, reranker.labels());
        assertEquals(TinyModel.POSITIONS, reranker.maxTokens());
        assertEquals(ScoreActivation.SIGMOID, reranker.activation());
        assertEquals(59, reranker.tokenizer().vocabularySize());
        assertTrue(reranker.ownBytes() > 0);
        assertTrue(reranker.mappedBytes() > 0);
    }

    /**
     * Both texts, their order and their token types change the score. Comparisons of a model with itself would not show a missing input.
     */
    @Test
    void bothTextsTheirOrderAndTypesCount() {
        Reranker plain = reranker.withActivation(ScoreActivation.IDENTITY);
        double score = plain.score("ab c", "de f");
        assertTrue(Math.abs(score - plain.score("ab x", "de f")) > 0.01);
        assertTrue(Math.abs(score - plain.score("ab c", "de x")) > 0.01);
        assertTrue(Math.abs(score - plain.score("de f", "ab c")) > 0.01);
        TinyReranker.Pair pair = TinyReranker.Pair.of(ids("ab c"), ids("de f"), TinyModel.POSITIONS);
        TinyReranker.Outputs right = MODEL.outputs(pair.ids(), pair.types());
        TinyReranker.Outputs wrong = MODEL.outputs(pair.ids(), new int[pair.ids().length]);
        assertTrue(Math.abs(right.exact()[0] - wrong.exact()[0]) > 10 * right.bounds()[0]);
    }

    private int[] ids(String text) {
        int[] ids = reranker.tokenizer().encodeWithSpecialTokens(text);
        return Arrays.copyOfRange(ids, 1, ids.length - 1);
    }

    @Test
    void activationsAreOfTheSameOutput() {
        double output = reranker.withActivation(ScoreActivation.IDENTITY).score("ab", "cd");
        assertEquals(1 / (1 + Math.exp(-output)), reranker.score("ab", "cd"), 1e-15);
        assertEquals(0, ScoreActivation.SIGMOID.of(-800));
        assertEquals(1, ScoreActivation.SIGMOID.of(800));
    }

    @Test
    void rankingPutsTheHighestScoreFirstAndKeepsEqualOnes() {
        List<String> passages = new ArrayList<>(TinyReranker.texts(new SplittableRandom(3), 40, 4));
        passages.add(passages.get(0));
        passages.add(5, passages.get(0));
        double[] scores = reranker.score("ab c", passages);
        List<RankedPassage> ranked = reranker.rank("ab c", passages);
        assertEquals(passages.size(), ranked.size());
        for (int i = 0; i < ranked.size(); i++) {
            RankedPassage passage = ranked.get(i);
            assertEquals(scores[passage.index()], passage.score());
            if (i > 0) {
                RankedPassage higher = ranked.get(i - 1);
                assertTrue(higher.score() > passage.score()
                        || higher.score() == passage.score() && higher.index() < passage.index());
            }
        }
        assertEquals(ranked.subList(0, 3), reranker.rank("ab c", passages, 3));
        assertEquals(ranked, reranker.rank("ab c", passages, 1000));
        assertEquals(List.of(), reranker.rank("ab c", List.of()));
        assertThrows(IllegalArgumentException.class, () -> reranker.rank("ab c", passages, 0));
    }

    @Test
    void anyListIsReadInItsOrder() {
        List<String> passages = TinyReranker.texts(new SplittableRandom(4), 60, 5);
        double[] expected = reranker.score("ab", passages);
        assertArrayEquals(expected, reranker.score("ab", new LinkedList<>(passages)));
        assertArrayEquals(new double[0], reranker.score("ab", List.of()));
        assertEquals(reranker.score("", " "), reranker.score(" \n", ""));
    }

    @Test
    void progressIsReportedBatchByBatch() {
        List<String> passages = TinyReranker.texts(new SplittableRandom(5), 300, 5);
        List<Integer> done = new ArrayList<>();
        reranker.score("ab", passages, done::add);
        assertTrue(done.size() > 2, done.toString());
        assertEquals(done.stream().sorted().distinct().toList(), done);
        assertEquals(300, done.getLast());
        RuntimeException stop = new RuntimeException("stop");
        assertSame(
                stop,
                assertThrows(
                        RuntimeException.class,
                        () -> reranker.score("ab", passages, n -> {
                            throw stop;
                        })));
        assertEquals(300, reranker.score("ab", passages).length);
    }

    @Test
    void severalLabelsHaveNoScore() throws IOException {
        TinyReranker three = new TinyReranker(7, 3);
        try (Reranker labeled = Reranker.load(Compute.serial(), three.write(folder.resolve("three")))) {
            assertEquals(3, labeled.labels());
            assertEquals(ScoreActivation.IDENTITY, labeled.activation());
            double[][] scores = labeled.labelScores("ab", List.of("c", "de f"));
            assertEquals(2, scores.length);
            TinyReranker.Pair pair = TinyReranker.Pair.of(ids("ab"), ids("de f"), TinyModel.POSITIONS);
            TinyReranker.Outputs expected = three.outputs(pair.ids(), pair.types());
            for (int label = 0; label < 3; label++) {
                assertEquals(expected.exact()[label], scores[1][label], expected.bounds()[label]);
            }
            String message = "model: 3 labels; expected 1, or a call of labelScores";
            for (Runnable call :
                    List.<Runnable>of(() -> labeled.score("ab", "c"), () -> labeled.rank("ab", List.of("c")))) {
                assertEquals(
                        message,
                        assertThrows(IllegalStateException.class, call::run).getMessage());
            }
        }
    }

    @Test
    void argumentsAreNamed() {
        assertMessage("query", () -> reranker.score(null, List.of()));
        assertMessage("passages", () -> reranker.score("a", (List<String>) null));
        assertMessage("passage", () -> reranker.score("a", (String) null));
        assertMessage("passage 1", () -> reranker.score("a", Arrays.asList("b", null)));
        assertMessage("progress", () -> reranker.score("a", List.of(), null));
        assertMessage("activation", () -> reranker.withActivation(null));
        for (int tokens : new int[] {Integer.MIN_VALUE, 2, TinyModel.POSITIONS + 1, Integer.MAX_VALUE}) {
            IllegalArgumentException wrong =
                    assertThrows(IllegalArgumentException.class, () -> reranker.withMaxTokens(tokens));
            assertTrue(wrong.getMessage().startsWith("maxTokens: " + tokens + "; expected at "), wrong.getMessage());
        }
    }

    private static void assertMessage(String argument, Runnable call) {
        NullPointerException wrong = assertThrows(NullPointerException.class, call::run);
        assertTrue(wrong.getMessage().startsWith(argument + ": null"), wrong.getMessage());
    }

    @Test
    void closedMeansClosedForAllViews() {
        Reranker view = reranker.withMaxTokens(7);
        reranker.close();
        reranker.close();
        for (Runnable call : List.<Runnable>of(
                () -> view.score("a", "b"), () -> view.score("a", List.of()), () -> reranker.rank("a", List.of("b")))) {
            assertEquals(
                    "encoder: closed; expected an open one",
                    assertThrows(IllegalStateException.class, call::run).getMessage());
        }
    }

    /** A warm pass allocates nothing; only a call allocates the scores. */
    @Test
    void warmPassesAllocateNothing() throws IOException {
        RerankerFolder.Loaded loaded = RerankerFolder.load(Loading.of(Compute.serial()), folder);
        List<String> passages = TinyReranker.texts(new SplittableRandom(6), 60, 5);
        double[] outputs = new double[passages.size()];
        RerankRun run = new RerankRun(loaded.core(), PairFormat.of(loaded.core().tokenizer, 2));
        assertEquals(
                0, WarmCalls.allocatedBytes(() -> run.run("ab c", passages, TinyModel.POSITIONS, outputs, done -> {})));
        assertArrayEquals(reranker.withActivation(ScoreActivation.IDENTITY).score("ab c", passages), outputs);
        loaded.core().close();
    }
}
