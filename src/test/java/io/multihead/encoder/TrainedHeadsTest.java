package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.analysis.HeadImportance;
import io.multihead.analysis.HeadPruning;
import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Activation;
import io.multihead.nn.Sequence;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the class of docs/reference/heads.md, with the same code, on a small model. */
class TrainedHeadsTest extends TinyModelFolder {
    /**
     * A state has an error of up to 300 u (as in SentenceEncoderTest), here and in the encoder. States are about 1 before they are divided
     * by their length, which is about the square root of 21.
     */
    private static final double TOLERANCE = 2 * 300 * 0x1p-24;

    private static final List<String> TEXTS = List.of("abc de", "lmnop qrst", "abc defghi jk");

    private SentenceEncoder encoder;
    private TrainedHeads model;
    private List<Tensor> texts;
    private List<float[]> vectors;

    @BeforeEach
    void loadModel() throws IOException {
        encoder = load();
        Safetensors file = Safetensors.map(Arena.ofAuto(), folder.resolve("model.safetensors"));
        TransformerBlock.Config config = TransformerBlock.Config.of(TinyModel.DIM, TinyModel.HEADS, TinyModel.INNER)
                .withActivation(Activation.GELU)
                .withEpsilon(TinyModel.EPSILON);
        model = TrainedHeads.of(Compute.serial(), Arena.ofAuto(), file::get, config, TinyModel.LAYERS);
        texts = TEXTS.stream()
                .map(text -> model.embedded(encoder.tokenizer().encodeWithSpecialTokens(text, encoder.maxTokens())))
                .toList();
        vectors = List.of(encoder.embed("zyx"), encoder.embed("w vu"), encoder.embed("t srqpo"));
    }

    private static boolean[][] all() {
        boolean[][] kept = new boolean[TinyModel.LAYERS][TinyModel.HEADS];
        Arrays.stream(kept).forEach(layer -> Arrays.fill(layer, true));
        return kept;
    }

    @Test
    void statesAreThoseOfTheEncoder() {
        for (int n = 0; n < TEXTS.size(); n++) {
            float[] expected = encoder.embed(TEXTS.get(n));
            Tensor states = states(model.masked(all()), texts.get(n));
            double[] mean = mean(states);
            double length = Math.sqrt(Arrays.stream(mean).map(x -> x * x).sum());
            double similarity = 0;
            for (int i = 0; i < mean.length; i++) {
                assertEquals(expected[i], mean[i] / length, TOLERANCE);
                similarity += mean[i] * vectors.get(n)[i];
            }
            assertEquals(similarity, model.similarity(texts.get(n), vectors.get(n), all()), 1e-12);
        }
    }

    @Test
    void importanceIsTheDerivativeByTheMask() {
        double[][] importance = model.importance(texts, vectors, all());
        double step = 0x1p-6;
        for (int layer = 0; layer < TinyModel.LAYERS; layer++) {
            double[] expected = new double[TinyModel.HEADS];
            for (int head = 0; head < TinyModel.HEADS; head++) {
                for (int n = 0; n < texts.size(); n++) {
                    double up = similarity(n, layer, head, 1 + step);
                    double down = similarity(n, layer, head, 1 - step);
                    expected[head] += Math.abs(up - down) / (2 * step) / texts.size();
                }
            }
            // the error of central differences is a sixth of the third derivative times step^2, which is 4e-5 times the
            // derivative; the measured error is 3.4e-5
            assertArrayEquals(HeadImportance.normalized(expected), importance[layer], 3e-4);
        }
    }

    private double similarity(int text, int layer, int head, double factor) {
        Sequence masked = model.masked(all());
        masked.parameters().get(layer + ".self_attn.head_mask").set(factor, 0, head);
        double[] mean = mean(states(masked, texts.get(text)));
        double sum = 0;
        for (int i = 0; i < mean.length; i++) {
            sum += mean[i] * vectors.get(text)[i];
        }
        return sum;
    }

    @Test
    void prunedBlocksComputeWhatMaskedOnesDo() {
        List<TransformerBlock> blocks = model.pruned(texts, vectors, TinyModel.HEADS, 3);
        HeadPruning.Result result = HeadPruning.greedyTo(
                TinyModel.LAYERS, TinyModel.HEADS, 3, kept -> 1, kept -> model.importance(texts, vectors, kept));
        int heads = 0;
        for (int layer = 0; layer < TinyModel.LAYERS; layer++) {
            heads += result.survivors(layer).length;
            assertEquals(
                    result.survivors(layer).length,
                    blocks.get(layer).config().attention().queryHeads());
        }
        assertEquals(3, heads);
        float[] expected = states(model.masked(result.kept()), texts.getFirst()).toArray();
        float[] actual = states(Sequence.of("", blocks), texts.getFirst()).toArray();
        float largest = 0;
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], actual[i], 20 * TOLERANCE);
            largest = Math.max(largest, Math.abs(expected[i]));
        }
        assertTrue(largest > 0.1, "states of " + largest);
    }

    @Test
    void thePageHasThisCode() throws IOException {
        String code = Files.readString(Path.of("src/test/java/io/multihead/encoder/TrainedHeads.java"));
        String body = code.substring(code.indexOf("/** A trained BERT encoder"));
        assertTrue(Files.readString(Path.of("docs/reference/heads.md")).contains(body), "docs/reference/heads.md");
    }

    private static Tensor states(Sequence model, Tensor text) {
        Tensor y = Tensor.zeros(Arena.ofAuto(), DType.F32, 1, text.dim(1), text.dim(2));
        model.forward(Compute.serial(), text, y);
        return y;
    }

    private static double[] mean(Tensor states) {
        double[] mean = new double[(int) states.dim(2)];
        for (int t = 0; t < states.dim(1); t++) {
            for (int i = 0; i < mean.length; i++) {
                mean[i] += states.get(0, t, i) / states.dim(1);
            }
        }
        return mean;
    }
}
