package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.OnnxWeights;
import io.multihead.reference.ReferenceLinear;
import io.multihead.support.Golden;
import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Scores are compared with the same model in plain loops in double. The last product of the head is in double and adds no error. Each of
 * its terms has a relative error from the earlier roundings in f32. The error of a score is therefore relative to the sum of the magnitudes
 * of the terms. This sum is the score itself if all terms have one sign, and is larger than the score if terms cancel, which arithmetic in
 * f32 cannot avoid.
 */
class RerankerPrecisionTest {
    /** The bound is 17 u. A state has some hundred roundings with errors of both signs, and norms keep their relative size. */
    private static final double BAR = 1e-6;

    private static final int SEEDS = 12;

    @TempDir
    Path folder;

    /** A score, and the sum of the magnitudes of the terms of its last product. */
    private record Score(double exact, double magnitude) {}

    /** A cross-encoder in double: an encoder, a layer with tanh, and a layer of one output. */
    private record Model(Map<String, Tensor> weights, ReferenceEncoder encoder, String dense, String output) {
        double[] pooled(TinyReranker.Pair pair) {
            double[] state = encoder.states(pair.ids(), pair.types())[0];
            double[] bias = values(dense + ".bias");
            double[] rows = ReferenceLinear.forward(state, values(dense + ".weight"), bias, bias.length, state.length);
            return Arrays.stream(rows).map(Math::tanh).toArray();
        }

        Score score(TinyReranker.Pair pair) {
            double[] pooled = pooled(pair);
            double[] weight = values(output + ".weight");
            double exact = values(output + ".bias")[0];
            double magnitude = Math.abs(exact);
            for (int i = 0; i < pooled.length; i++) {
                exact += weight[i] * pooled[i];
                magnitude += Math.abs(weight[i] * pooled[i]);
            }
            return new Score(exact, magnitude);
        }

        /** Changes the signs of the last layer so that no two terms of a pair cancel. */
        void align(TinyReranker.Pair pair) {
            double[] pooled = pooled(pair);
            double[] weight = values(output + ".weight");
            float[] aligned = new float[weight.length];
            for (int i = 0; i < aligned.length; i++) {
                aligned[i] = (float) Math.copySign(weight[i], pooled[i]);
            }
            weights.put(output + ".weight", Tensor.of(aligned, 1, aligned.length));
            weights.put(output + ".bias", Tensor.of(new float[] {(float) Math.abs(values(output + ".bias")[0])}, 1));
        }

        private double[] values(String name) {
            return Numbers.of(weights.get(name));
        }
    }

    /** Writes the folder of a model. */
    private interface Writer {
        void write() throws IOException;
    }

    @Test
    void scoresOfBertAreWithinTheBar() throws IOException {
        for (int seed = 1; seed <= SEEDS; seed++) {
            TinyReranker tiny = new TinyReranker(seed, 1);
            ReferenceEncoder encoder = new ReferenceEncoder(tiny.weights());
            requireScores(
                    seed,
                    new Model(tiny.weights(), encoder, "pooler.dense", "classifier"),
                    () -> tiny.write(folder),
                    (query, passage) -> TinyReranker.Pair.of(query, passage, TinyModel.POSITIONS));
        }
    }

    @Test
    void scoresOfXlmRAreWithinTheBar() throws IOException {
        for (int seed = 1; seed <= SEEDS; seed++) {
            Map<String, Tensor> weights = TinyXlmR.classifier(seed, TinyXlmR.FIRST);
            ReferenceEncoder encoder = new ReferenceEncoder(TinyXlmR.shifted(weights, TinyXlmR.FIRST));
            requireScores(
                    seed,
                    new Model(weights, encoder, "classifier.dense", "classifier.out_proj"),
                    () -> TinyXlmR.writeClassifier(folder, weights),
                    RerankerPrecisionTest::robertaPair);
        }
    }

    /** Joins the ids of two texts to the ids of a pair. */
    private interface Pairing {
        TinyReranker.Pair of(int[] query, int[] passage);
    }

    private static TinyReranker.Pair robertaPair(int[] query, int[] passage) {
        IntStream begin = IntStream.concat(IntStream.of(0), Arrays.stream(query));
        IntStream end = IntStream.concat(Arrays.stream(passage), IntStream.of(2));
        int[] ids = IntStream.concat(begin, IntStream.concat(IntStream.of(2, 2), end))
                .toArray();
        return new TinyReranker.Pair(ids, new int[ids.length]);
    }

    /** Checks a pair whose terms have one sign, and pairs whose terms partly cancel. */
    private void requireScores(long seed, Model model, Writer writer, Pairing pairing) throws IOException {
        String query = "ab c";
        List<String> passages = TinyReranker.texts(new SplittableRandom(seed), 8, 4).stream()
                .map(text -> text.substring(0, Math.min(text.length(), 14)))
                .toList();
        writer.write();
        List<TinyReranker.Pair> pairs;
        try (Reranker reranker = Reranker.load(Compute.serial(), folder)) {
            pairs = passages.stream()
                    .map(passage -> pairing.of(ids(reranker.tokenizer(), query), ids(reranker.tokenizer(), passage)))
                    .toList();
        }
        model.align(pairs.getFirst());
        writer.write();
        try (Reranker reranker = Reranker.load(Compute.serial(), folder).withActivation(ScoreActivation.IDENTITY)) {
            double[] actual = reranker.score(query, passages);
            for (int i = 0; i < actual.length; i++) {
                Score score = model.score(pairs.get(i));
                String where = "seed " + seed + ", pair " + i;
                assertEquals(score.exact, actual[i], BAR * score.magnitude, where);
                if (i == 0) {
                    assertEquals(score.magnitude, score.exact, 1e-12 * score.magnitude, where);
                    assertEquals(score.exact, actual[i], BAR * score.exact, where);
                }
            }
        }
    }

    private static int[] ids(EncoderTokenizer tokenizer, String text) {
        int[] ids = tokenizer.encodeWithSpecialTokens(text);
        return Arrays.copyOfRange(ids, 1, ids.length - 1);
    }

    /**
     * Compares trained weights of 6 layers with a head of random weights. Magnitudes of the terms sum to 17 where scores are 1. Errors are
     * at most 2e-6, here and in ONNX Runtime, whose outputs {@link RerankerGoldenTest} compares. Every block adds a part of the error, and
     * the head adds no more than a block. The root mean square of the relative error of the states of 8 pairs is 0.7e-7 after the
     * embeddings, and 2.9e-7, 3.7e-7, 4.3e-7, 4.7e-7, 4.5e-7 and 6.1e-7 after the blocks.
     */
    @Test
    void scoresOfMiniLmAreWithinTheBar() throws IOException {
        List<String> texts = GoldenTexts.sentences(Models.paragraph());
        Tensor peers = Golden.open("encoder/reranker").tensor("outputs");
        int query = GoldenHead.QUERIES[0];
        int[] passages = GoldenHead.passages(query);
        Model model = miniLm();
        double worst = 0;
        double worstOfPeer = 0;
        int compared = 0;
        try (Reranker reranker = loadMiniLm()) {
            int[] first = ids(reranker.tokenizer(), texts.get(query));
            for (int i = 0; i < passages.length && compared < 3; i++) {
                int[] second = ids(reranker.tokenizer(), texts.get(passages[i]));
                if (first.length + second.length > 60) {
                    continue; // longer pairs take more than a second in plain loops
                }
                EncoderTokenizer tokenizer = reranker.tokenizer();
                Score score = model.score(TinyReranker.Pair.of(
                        first, second, GoldenHead.MOST_TOKENS, tokenizer.firstToken(), tokenizer.lastToken()));
                double actual = reranker.score(texts.get(query), texts.get(passages[i]));
                worst = Math.max(worst, Math.abs(actual - score.exact) / score.magnitude);
                worstOfPeer = Math.max(worstOfPeer, Math.abs(peers.get(i) - score.exact) / score.magnitude);
                compared++;
            }
        }
        assertEquals(3, compared);
        Promises.RERANKING_EXACT.record(worst);
        assertTrue(worst <= Promises.RERANKING_EXACT.limit(), "differ by " + worst);
        // a large error of ONNX Runtime would mean that the loops compute another model
        assertTrue(worstOfPeer <= Promises.RERANKING_EXACT.limit(), "ONNX Runtime differs by " + worstOfPeer);
    }

    private static InputStream miniLmWithHead() {
        return new SequenceInputStream(Models.open(Models.MINILM), new ByteArrayInputStream(GoldenHead.graph()));
    }

    private static Model miniLm() throws IOException {
        try (InputStream in = miniLmWithHead()) {
            OnnxWeights file = OnnxWeights.read(in);
            Map<String, Tensor> weights = new LinkedHashMap<>();
            file.names().forEach(name -> weights.put(name, file.get(name)));
            return new Model(weights, new ReferenceEncoder(weights, 6, 12, 1e-12), "pooler.dense", "classifier");
        }
    }

    private static Reranker loadMiniLm() throws IOException {
        try (InputStream in = miniLmWithHead();
                InputStream tokenizer = Models.open(Models.MINILM_TOKENIZER)) {
            return Reranker.ofOnnx(Compute.serial(), in, tokenizer).withActivation(ScoreActivation.IDENTITY);
        }
    }
}
