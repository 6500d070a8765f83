package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.model.Pooling;
import io.multihead.reference.ReferenceLinear;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** XLM-R and RoBERTa have positions from row 2, one token type, a Unigram tokenizer, and a different classifier. */
class XlmRTest {
    private static final List<String> TEXTS =
            List.of("", "a", "abc de fgh", "<mask> a<s> b", "\u4e2d\u6587 x", "qwertyuiopasdfghjklzxcvbnm qwertyuiop");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {1, 0, 5})
    void vectorsAreThoseOfTheReference(int padding) throws IOException {
        for (int seed = 1; seed < 4; seed++) {
            Map<String, Tensor> weights = TinyXlmR.weights(seed, padding + 1);
            ReferenceEncoder reference = new ReferenceEncoder(TinyXlmR.shifted(weights, padding + 1));
            TinyXlmR.write(folder, weights, padding);
            try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
                assertEquals(TinyModel.POSITIONS, encoder.maxTokens());
                for (Pooling pooling : Pooling.values()) {
                    float[][] actual = encoder.withPooling(pooling).embed(TEXTS);
                    for (int i = 0; i < TEXTS.size(); i++) {
                        int[] ids = encoder.tokenizer().encodeWithSpecialTokens(TEXTS.get(i), TinyModel.POSITIONS);
                        double[] expected = reference.embed(ids, pooling, true);
                        for (int j = 0; j < expected.length; j++) {
                            assertEquals(expected[j], actual[i][j], SentenceEncoderTest.TOLERANCE, TEXTS.get(i));
                        }
                    }
                }
            }
        }
    }

    @Test
    void aFolderMayBeThatOfRoberta() throws IOException {
        TinyXlmR.write(folder, TinyXlmR.weights(1, 2), 1);
        float[] expected = embed();
        Files.writeString(
                folder.resolve("config.json"),
                TinyXlmR.config(1).replace("xlm-roberta", "roberta").replace("\"pad_token_id\": 1,", ""));
        assertArrayEquals(expected, embed());
    }

    private float[] embed() throws IOException {
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            return encoder.embed("abc d");
        }
    }

    @Test
    void lengthsAreThoseOfPositionsThatTokensHave() throws IOException {
        TinyXlmR.write(folder, TinyXlmR.weights(1, 2), 1);
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 25}");
        assertTrue(message().contains("max_seq_length: 25; expected an integer from 3 to 24"), message());
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 24}");
        embed();
        Files.writeString(
                folder.resolve("config.json"), TinyXlmR.config(1).replace("embeddings\": 26", "embeddings\": 4"));
        assertTrue(message().contains("max_position_embeddings: 4; expected an integer from 5"), message());
        Files.writeString(folder.resolve("config.json"), TinyXlmR.config(1).replace("\": 60", "\": 57"));
        assertTrue(message().contains("57"), message());
    }

    private String message() {
        return assertThrows(IllegalArgumentException.class, this::embed).getMessage();
    }

    /** The classifier applies a layer, tanh and the last layer to the state of the first token, without a pooler. */
    @Test
    void aClassifierHasBothItsLayers() throws IOException {
        Map<String, Tensor> weights = TinyXlmR.classifier(5, 2);
        TinyXlmR.writeClassifier(folder, weights);
        ReferenceEncoder reference = new ReferenceEncoder(TinyXlmR.shifted(weights, 2));
        try (Reranker reranker = Reranker.load(Compute.serial(), folder)) {
            double[] scores = reranker.score("ab c", List.of("abc", "d e f", "xxx", "z"));
            String query = "\u2581a b \u2581c";
            int[][] pairs = {
                ids(query, "\u2581a b c"),
                ids(query, "\u2581d \u2581e \u2581f"),
                ids(query, "\u2581x x x"),
                ids(query, "\u2581z")
            };
            for (int i = 0; i < pairs.length; i++) {
                double[] state = reference.states(pairs[i], new int[pairs[i].length])[0];
                double[] dense = ReferenceLinear.forward(
                        state,
                        values(weights, "classifier.dense.weight"),
                        values(weights, "classifier.dense.bias"),
                        TinyModel.DIM,
                        TinyModel.DIM);
                double sum = values(weights, "classifier.out_proj.bias")[0];
                for (int j = 0; j < dense.length; j++) {
                    sum += Math.tanh(dense[j]) * values(weights, "classifier.out_proj.weight")[j];
                }
                // an error E of the state is 21 x 0.4 E after a layer, 21 x 0.4 times larger in the sum, and at most a
                // quarter of that after the logistic function: 18 E, for states of up to 5
                assertEquals(1 / (1 + Math.exp(-sum)), scores[i], 100 * SentenceEncoderTest.TOLERANCE, "pair " + i);
            }
            double spread = Arrays.stream(scores).max().getAsDouble()
                    - Arrays.stream(scores).min().getAsDouble();
            assertTrue(spread > 0.03, Arrays.toString(scores));
            assertEquals(4, reranker.withMaxTokens(4).maxTokens());
            String message = assertThrows(IllegalArgumentException.class, () -> reranker.withMaxTokens(3))
                    .getMessage();
            assertTrue(message.startsWith("maxTokens: 3; expected at least 4"), message);
        }
    }

    private static int[] ids(String first, String second) {
        String all = "<s> " + first + " </s> </s> " + second + " </s>";
        List<String> start = List.of("<s>", "<pad>", "</s>");
        return Arrays.stream(all.split(" "))
                .mapToInt(piece -> start.contains(piece)
                        ? start.indexOf(piece)
                        : 5 + 2 * (piece.charAt(piece.length() - 1) - 'a') + piece.length() - 1)
                .toArray();
    }

    private static double[] values(Map<String, Tensor> weights, String name) {
        float[] values = weights.get(name).toArray();
        double[] all = new double[values.length];
        for (int i = 0; i < all.length; i++) {
            all[i] = values[i];
        }
        return all;
    }

    /** A packed file contains the bytes of the tokenizer's files, including its configuration. */
    @Test
    void aPackedFileHasTheTokenizersFiles() throws IOException {
        TinyXlmR.write(folder, TinyXlmR.weights(1, 2), 1);
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            encoder.write(file);
            byte[] written = Files.readAllBytes(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed(TEXTS), mapped.embed(TEXTS));
                assertEquals(
                        encoder.tokenizer().secondType(), mapped.tokenizer().secondType());
                assertEquals(
                        encoder.tokenizer().separators(), mapped.tokenizer().separators());
                mapped.write(file);
            }
            assertArrayEquals(written, Files.readAllBytes(file));
            try (Arena arena = Arena.ofConfined()) {
                Safetensors packed = Safetensors.map(arena, file);
                for (String name : List.of("tokenizer.json", "tokenizer_config.json")) {
                    assertArrayEquals(
                            Files.readAllBytes(folder.resolve(name)),
                            packed.get(name).memory().toArray(ValueLayout.JAVA_BYTE));
                }
            }
        }
    }

    /** An encoder with other tokenizer files, such as SentencePiece's, cannot be written. */
    @Test
    void aPackedFileNeedsATokenizerJson() throws IOException {
        TinyXlmR.write(folder, TinyXlmR.weights(1, 2), 1);
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            EncoderTokenizer tokenizer = encoder.tokenizer();
            String message = assertThrows(IllegalArgumentException.class, () -> TokenizerFiles.NONE.tensors(tokenizer))
                    .getMessage();
            assertTrue(message.endsWith("expected WordPiece, or that of a folder with a tokenizer.json"), message);
        }
    }
}
