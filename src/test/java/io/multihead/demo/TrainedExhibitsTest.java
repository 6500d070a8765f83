package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TextAttention;
import io.multihead.model.Buffers;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import java.io.FileNotFoundException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The parts of the trained model's exhibits. */
class TrainedExhibitsTest {
    private static final List<String> TOKENS = List.of("[CLS]", "a", "cat", ",", "a", "[SEP]");
    private static final List<String> TEXTS =
            List.of("A cat sleeps.", "Slow but steady wins the race.", "Stocks fell.");

    private static SentenceEncoder encoder;
    private static Transformer model;
    private static Parallel parallel;

    @BeforeAll
    static void load() throws Exception {
        encoder = TrainedModel.encoder(Compute.serial());
        model = encoder.transformer();
        parallel = new Parallel(2);
    }

    @AfterAll
    static void close() {
        encoder.close();
        parallel.close();
    }

    @Test
    void sharesAreMeansOverTokensWithATarget() {
        double[][] weights = new double[6][6];
        for (int i = 0; i < 6; i++) {
            weights[i][Math.max(0, i - 1)] = 0.75;
            weights[i][3] += 0.25;
        }
        assertEquals(0.75 + 0.25 / 5, Pattern.PREVIOUS.share(TOKENS, weights), 1e-12, "token 4 follows the comma");
        assertEquals(0.25 / 5, Pattern.NEXT.share(TOKENS, weights), 1e-12);
        assertEquals((0.75 + 0.25) / 6, Pattern.ITSELF.share(TOKENS, weights), 1e-12);
        assertEquals(0.75 / 5, Pattern.FIRST.share(TOKENS, weights), 1e-12, "not [CLS] on itself");
        assertEquals(0, Pattern.LAST.share(TOKENS, weights), 1e-12);
        assertEquals(0, Pattern.SAME_WORD.share(TOKENS, weights), 1e-12);
        weights[1][4] = 0.5;
        assertEquals(0.25, Pattern.SAME_WORD.share(TOKENS, weights), 1e-12, "two tokens have a twin");
        assertEquals(0.25 + 0.75 / 6, Pattern.PUNCTUATION.share(TOKENS, weights), 1e-12);
        assertEquals(0, Pattern.SAME_WORD.share(List.of("a", "b"), new double[2][2]), "no token has a twin");
    }

    /** The three heads attend evenly, to the previous token, and to the next token. */
    @Test
    void headsAreChosenByWhatWasMeasured() {
        int n = TOKENS.size();
        float[] weights = new float[3 * n * n];
        for (int i = 0; i < n; i++) {
            Arrays.fill(weights, i * n, (i + 1) * n, 1f / n);
            weights[n * n + i * n + Math.max(0, i - 1)] = 1;
            weights[2 * n * n + i * n + Math.min(n - 1, i + 1)] = 0.75f;
            weights[2 * n * n + i * n] += 0.25f;
        }
        HeadSurvey survey = new HeadSurvey(new TextAttention(TOKENS, Tensor.of(weights, 1, 3, n, n)));
        Map<Integer, String> chosen = HeadChoice.of(survey, 3);
        assertEquals(List.of(0, 1, 2), List.copyOf(chosen.keySet()));
        assertTrue(chosen.get(0).startsWith("highest entropy, 2.58 bits"), chosen.get(0));
        assertEquals("lowest entropy, 0.00 bits; 1.00 of its weight on the previous token", chosen.get(1));
        assertTrue(chosen.get(2).endsWith("; 0.75 of its weight on the next token"), chosen.get(2));
        assertEquals("layer 1 head 2", survey.name(1));
        assertEquals(1.0 / n, survey.chance(Pattern.NEXT), 1e-12);
    }

    @Test
    void partsGiveTheVectorsOfTheEncoder() {
        float[][] expected = encoder.embed(TEXTS);
        float[][] actual = vectors(model);
        for (int i = 0; i < expected.length; i++) {
            // the states have the same bits, and both sides pool in double; elements below 1 are rounded to f32 at the
            // end
            assertArrayEquals(expected[i], actual[i], 0x1p-24f, TEXTS.get(i));
        }
    }

    @Test
    void headsThatAreCutOutAreThoseThatWereMasked() {
        boolean[][] kept = TrainedPruning.kept(TrainedPruning.randomOrder(1), 30);
        MaskedCosine masked = new MaskedCosine(model, encoder.tokenizer(), TEXTS, parallel);
        // a product of vectors of length 1; each of their elements has been rounded once
        assertEquals(1, masked.cosine(MaskedCosine.all()), 2 * 0x1p-24);
        double cosine = masked.cosine(kept);
        assertTrue(cosine < 0.99, "30 heads matter: " + cosine);
        float[][] whole = encoder.embed(TEXTS);
        float[][] cut = vectors(TrainedPruning.keepHeads(model, kept));
        double mean = 0;
        for (int i = 0; i < cut.length; i++) {
            for (int j = 0; j < cut[i].length; j++) {
                mean += (double) cut[i][j] * whole[i][j] / cut.length;
            }
        }
        // The cosine of two vectors of length 1 changes by at most the length of a change. Sums with weights of 0 and
        // without these weights have different orders. An encoder in f32 with the documented difference of 1e-6 per
        // element would give sqrt(384) times 1e-6, and half of this is allowed. The measured difference is 6e-9.
        assertEquals(mean, cosine, 1e-5);
        masked.moveTo(kept);
        assertEquals(cosine, masked.cosine(kept), 0, "from states that were kept");
        kept[5][0] = !kept[5][0];
        assertEquals(
                new MaskedCosine(model, encoder.tokenizer(), TEXTS, parallel).cosine(kept),
                masked.cosine(kept),
                0,
                "from there");
    }

    @Test
    void aMissingModelIsNamed() {
        String message = assertThrows(FileNotFoundException.class, () -> TrainedModel.open("/other.onnx"))
                .getMessage();
        assertTrue(
                message.startsWith("other.onnx is not on the class path; expected the jar dev.langchain4j:"), message);
    }

    @Test
    void aMissingTextIsNamed() {
        String message = assertThrows(FileNotFoundException.class, () -> Resources.text("/other.txt"))
                .getMessage();
        assertEquals("other.txt is not on the class path; expected src/demo/resources there", message);
    }

    @Test
    void theCorpusHasSentencesAndTheirFables() throws Exception {
        Fables corpus = Fables.read();
        assertTrue(corpus.sentences().size() >= 190, corpus.sentences().size() + " sentences");
        assertEquals(corpus.sentences().size(), corpus.titles().size());
        assertEquals("The Wolf and the Lamb", corpus.titles().getFirst());
        assertEquals(
                corpus.sentences().size(),
                corpus.sentences().stream().distinct().count());
        assertTrue(corpus.sentences().stream().noneMatch(String::isBlank));
    }

    private static float[][] vectors(Transformer of) {
        List<float[]> vectors = new ArrayList<>();
        for (TextBatch batch : TextBatch.of(encoder.tokenizer(), TEXTS)) {
            Buffers buffers = of.buffers(batch.tokens());
            of.forward(Compute.serial(), batch.tokenBatch(), buffers);
            vectors.addAll(batch.pool(buffers.states()));
        }
        return vectors.toArray(float[][]::new);
    }
}
