package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.encoder.family.ModernBertConfig;
import io.multihead.internal.encoder.family.RotaryEncoderConfig;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairFixture;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** ModernBERT has two rotations, windows in some layers, a gate, norms before sublayers, and a byte-level tokenizer. */
class ModernBertTest {
    /** The tolerance of {@link SentenceEncoderTest}, for twice as many layers and twice as many products in a sum. */
    static final double TOLERANCE = 4 * SentenceEncoderTest.TOLERANCE;

    private static final List<String> TEXTS = List.of(
            "",
            "a",
            "abc de fgh",
            "[MASK] a[SEP] b",
            "e\u0301 \u4e2d\u6587 x",
            "qwertyuiopasdfghjklzxcvbnm qwertyuiop asdf");

    @TempDir
    Path folder;

    private static String config(boolean newer) {
        return newer ? TinyModernBert.NEWER : TinyModernBert.CONFIG;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void vectorsAreThoseOfTheReference(boolean newer) throws IOException {
        for (int seed = 1; seed < 4; seed++) {
            Map<String, Tensor> weights = TinyModernBert.weights(seed, newer);
            ReferenceModernBert reference = new ReferenceModernBert(weights);
            TinyModernBert.write(folder, config(newer), weights);
            try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
                assertEquals(TinyModernBert.POSITIONS, encoder.maxTokens());
                assertEquals(TinyModernBert.DIM, encoder.dimension());
                float[][] actual = encoder.withNormalization(false).embed(TEXTS);
                for (int i = 0; i < TEXTS.size(); i++) {
                    int[] ids = encoder.tokenizer().encodeWithSpecialTokens(TEXTS.get(i), TinyModernBert.POSITIONS);
                    double[] expected = mean(reference.states(ids));
                    for (int j = 0; j < expected.length; j++) {
                        assertEquals(expected[j], actual[i][j], TOLERANCE, TEXTS.get(i));
                    }
                }
            }
        }
    }

    private static double[] mean(double[][] states) {
        double[] mean = new double[states[0].length];
        for (double[] state : states) {
            for (int i = 0; i < mean.length; i++) {
                mean[i] += state[i] / states.length;
            }
        }
        return mean;
    }

    /** A text has the same bits alone, in batches of any size, on any number of threads, and given as ids. */
    @Test
    void bitsAreTheSameInAnyBatch() throws IOException {
        TinyModernBert.write(folder, TinyModernBert.CONFIG, TinyModernBert.weights(1, false));
        SplittableRandom random = new SplittableRandom(3);
        List<String> texts = new ArrayList<>(TEXTS);
        for (int i = 0; i < 60; i++) {
            StringBuilder text = new StringBuilder();
            random.ints(random.nextInt(38), 'a', 'z' + 1).forEach(c -> text.append((char) c));
            texts.add(text.toString());
        }
        try (Compute threads = Compute.threads(3);
                SentenceEncoder alone = SentenceEncoder.load(Compute.serial(), folder);
                SentenceEncoder together = SentenceEncoder.load(threads, folder)) {
            float[][] all = together.embed(texts);
            for (int i = 0; i < all.length; i++) {
                assertArrayEquals(alone.embed(texts.get(i)), all[i], texts.get(i));
            }
            List<int[]> ids = texts.stream()
                    .map(text -> alone.tokenizer().encodeWithSpecialTokens(text, alone.maxTokens()))
                    .toList();
            assertArrayEquals(all, alone.embedTokens(ids));
        }
    }

    /** The encoder may be a part of a masked language model. Vectors do not use the head. */
    @Test
    void anEncoderIsFoundInALargerModel() throws IOException {
        Map<String, Tensor> weights = TinyModernBert.weights(1, false);
        TinyModernBert.write(folder, TinyModernBert.CONFIG, weights);
        float[] expected = embed();
        Map<String, Tensor> larger = new LinkedHashMap<>(TinyModernBert.head(1, false, 1));
        larger.put("decoder.bias", Tensor.of(new float[264]));
        weights.forEach((name, weight) -> larger.put("model." + name, weight));
        TinyModernBert.write(folder, TinyModernBert.CONFIG, larger);
        assertArrayEquals(expected, embed());
        larger.put("layers.4.attn.Wo.weight", Tensor.of(new float[1]));
        TinyModernBert.write(folder, TinyModernBert.CONFIG, larger);
        assertFails("tensors: 1 of no use, such as layers.4.attn.Wo.weight; expected none");
        weights.remove("final_norm.weight");
        TinyModernBert.write(folder, TinyModernBert.CONFIG, weights);
        assertFails("tensor \"final_norm.weight\": not in the file");
    }

    private float[] embed() throws IOException {
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            return encoder.embed("abc d efghijk lmno");
        }
    }

    private void assertFails(String message) {
        String actual =
                assertThrows(IllegalArgumentException.class, this::embed).getMessage();
        assertTrue(actual.contains(message), actual);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"modernbert\" | \"modernbert-decoder\" | model_type: modernbert-decoder; expected one of [bert, roberta, xlm-roberta, modernbert",
                "\"gelu\" | \"gelu_pytorch_tanh\" | config.hidden_activation: gelu_pytorch_tanh; expected gelu",
                "\"mean\" | \"max\" | config.classifier_pooling: max; expected cls or mean",
                "hidden_size\": 30 | hidden_size\": 31 | hidden_size: 31; expected a multiple of 3 heads",
                "hidden_size\": 30 | hidden_size\": 27 | hidden_size: 27; expected an even number of elements of each of 3 heads",
                "embeddings\": 40 | embeddings\": 16777216 | max_position_embeddings: 16777216, with hidden_size 30 and intermediate_size 37",
                "n_layers\": 2 | n_layers\": 0 | config.global_attn_every_n_layers: 0; expected an integer from 1",
                "attention\": 7 | attention\": -1 | config.local_attention: -1; expected an integer from 0",
                "theta\": 30.0 | theta\": 1 | config.local_rope_theta: 1; expected a number above 1",
                "theta\": 30.0 | theta\": null | config.local_rope_theta: null; expected a number",
                "\"norm_eps\" | \"rope_scaling\": {\"rope_type\": \"yarn\"}, \"norm_eps\" | config.rope_scaling: ",
                "\"norm_eps\" | \"head_dim\": 64, \"norm_eps\" | config.head_dim: 64; expected null",
                "\"norm_eps\" | \"quantization_config\": {}, \"norm_eps\" | config.quantization_config: {}; expected null",
                "\"norm_eps\" | \"is_decoder\": true, \"norm_eps\" | config.is_decoder: true; expected false",
                "\"norm_eps\" | \"layer_types\": [\"full_attention\"], \"norm_eps\" | config.layer_types: [full_attention]; expected full_attention or sliding_attention for each of 4 layers",
                "\"norm_eps\" | \"layer_types\": [null, null, null, null], \"norm_eps\" | config.layer_types: [null, null, null, null]; expected full_attention or",
                "\"norm_eps\" | \"layer_types\": [\"a\", \"a\", \"a\", \"a\"], \"norm_eps\" | config.layer_types: [a, a, a, a]; expected full_attention or",
                "\"norm_eps\" | \"rope_parameters\": {\"rope_theta\": 5}, \"norm_eps\" | config.rope_parameters: {rope_theta=5}; expected members full_attention and sliding_attention",
                "\"norm_eps\" | \"rope_parameters\": {\"full_attention\": {\"rope_type\": \"yarn\"}}, \"norm_eps\" | full_attention.rope_type: yarn; expected default",
                "\"norm_eps\" | \"rope_parameters\": {\"full_attention\": {\"factor\": 2}}, \"norm_eps\" | full_attention: {factor=2}; expected rope_type and rope_theta alone",
            })
    void whatIsNotImplementedIsNamed(String part, String other, String message) throws IOException {
        String config = TinyModernBert.CONFIG.replace(part, other);
        assertTrue(!config.equals(TinyModernBert.CONFIG), part);
        TinyModernBert.write(folder, config, TinyModernBert.weights(1, false));
        assertFails(message);
    }

    /** Omitted members have the defaults of ModernBERT base. */
    @Test
    void whatAFileDoesNotSayIsTheDefault() {
        ModernBertConfig base = ModernBertConfig.of(new JsonObject("config", Map.of()));
        assertEquals(new RotaryEncoderConfig.Sizes(768, 22, 12, 1152, 50368, 8192), base.sizes());
        assertEquals(64, base.reach());
        assertEquals(List.of(false, true, true, false), base.local().subList(0, 4));
        assertEquals(160_000, base.globalTheta());
        assertEquals(10_000, base.localTheta());
        assertEquals(1e-5, base.epsilon());
        assertEquals(new ModernBertConfig.Biases(false, false, false, false), base.biases());
        assertTrue(!base.classifiesMean());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatIsWrittenIsRead(boolean newer) {
        ModernBertConfig config = ModernBertConfig.of(json(config(newer)));
        ModernBertConfig read = ModernBertConfig.of(json(JsonWriter.write("config", config.toJson())));
        assertEquals(config.sizes(), read.sizes());
        assertEquals(config.local(), read.local());
        assertEquals(config.reach(), read.reach());
        assertEquals(config.globalTheta(), read.globalTheta());
        assertEquals(config.localTheta(), read.localTheta());
        assertEquals(config.biases().norm(), read.biases().norm());
    }

    private static JsonObject json(String text) {
        return new JsonObject("config", Json.object("config", text.getBytes(StandardCharsets.UTF_8)));
    }

    /**
     * The head applies a layer, GELU, a normalization and the last layer to the mean of states or to the first state. Token types do not
     * distinguish texts.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void scoresAreThoseOfTheReference(boolean newer) throws IOException {
        for (int labels = 1; labels < 3; labels++) {
            Map<String, Tensor> weights = TinyModernBert.weights(7, newer);
            Map<String, Tensor> head = TinyModernBert.head(7, newer, labels);
            TinyModernBert.writeReranker(folder, config(newer), weights, head);
            Map<String, Tensor> all = new LinkedHashMap<>(weights);
            all.putAll(head);
            ReferenceModernBert reference = new ReferenceModernBert(all);
            try (Reranker reranker = Reranker.load(Compute.serial(), folder)) {
                assertEquals(labels, reranker.labels());
                List<String> passages =
                        List.of("abc", "d e f", "xxx", "z", "a longer passage, cut somewhere at its end");
                double[][] actual =
                        reranker.withActivation(ScoreActivation.IDENTITY).labelScores("ab c", passages);
                for (int i = 0; i < passages.size(); i++) {
                    double[] expected = reference.logits(!newer, pair("ab c", passages.get(i), reranker));
                    for (int label = 0; label < labels; label++) {
                        // an error E of a state is 30 x 0.4 E after the layer; the normalization divides it by a
                        // deviation of 2, and the last layer multiplies the result by 30 x 0.4
                        assertEquals(expected[label], actual[i][label], 80 * TOLERANCE, "pair " + i);
                    }
                }
                assertTrue(Math.abs(actual[0][0] - actual[1][0]) > 0.1, Arrays.deepToString(actual));
            }
        }
    }

    private static int[] pair(String query, String passage, Reranker reranker) {
        int[] first = reranker.tokenizer().encodeWithSpecialTokens(query);
        int[] second = reranker.tokenizer().encodeWithSpecialTokens(passage);
        int room = TinyModernBert.POSITIONS - first.length;
        int kept = Math.min(room, second.length - 1);
        int[] ids = Arrays.copyOf(first, first.length + kept);
        System.arraycopy(second, 1, ids, first.length, kept);
        ids[ids.length - 1] = BytePairFixture.SEP;
        return ids;
    }

    /** A pair has the same bits alone and in a batch on several threads. */
    @Test
    void scoresHaveTheSameBitsInAnyBatch() throws IOException {
        TinyModernBert.writeReranker(
                folder, TinyModernBert.CONFIG, TinyModernBert.weights(1, false), TinyModernBert.head(1, false, 1));
        List<String> passages = TinyReranker.texts(new SplittableRandom(8), 80, 8);
        try (Compute threads = Compute.threads(3);
                Reranker alone = Reranker.load(Compute.serial(), folder);
                Reranker together = Reranker.load(threads, folder)) {
            double[] all = together.score("ab c", passages);
            for (int i = 0; i < all.length; i++) {
                assertEquals(alone.score("ab c", passages.get(i)), all[i], passages.get(i));
            }
        }
    }

    /** The tokenizer is not WordPiece, so the packed file contains the bytes of its file. */
    @Test
    void aPackedFileHasTheTokenizersFile() throws IOException {
        TinyModernBert.write(folder, TinyModernBert.CONFIG, TinyModernBert.weights(1, false));
        List<String> texts = List.of("", "ab c", "[MASK] e\u0301 x", "abcabc ab");
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            encoder.write(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed(texts), mapped.embed(texts));
            }
        }
    }
}
