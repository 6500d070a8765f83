package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.OnnxFile;
import io.multihead.model.Pooling;
import io.multihead.tensor.Tensor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tiny model in the form in which PyTorch's exporter would write it. */
class BertOnnxTest {
    @TempDir
    Path folder;

    /** The weights, which a test may change before it writes the graph. */
    private final Map<String, Tensor> weights = TinyModel.weights(1);

    private final Map<String, Float> constants = new LinkedHashMap<>();
    private String activation = "Erf";
    private boolean wordsAreMultiplied;

    BertOnnxTest() {
        constants.put("/embeddings/LayerNorm/Add", (float) TinyModel.EPSILON);
        for (int layer = 0; layer < TinyModel.LAYERS; layer++) {
            constants.put("/encoder/layer." + layer + "/attention/self/Div", (float) Math.sqrt(7));
            constants.put("/encoder/layer." + layer + "/attention/output/LayerNorm/Add", (float) TinyModel.EPSILON);
            constants.put("/encoder/layer." + layer + "/output/LayerNorm/Add", (float) TinyModel.EPSILON);
        }
    }

    private byte[] file() {
        return OnnxFile.bert(
                weights,
                constants,
                activation,
                name -> name.startsWith("encoder.") || wordsAreMultiplied && name.contains("word_embeddings"));
    }

    private SentenceEncoder load() throws IOException {
        InputStream tokenizer = new ByteArrayInputStream(tokenizer().getBytes(StandardCharsets.UTF_8));
        return SentenceEncoder.ofOnnx(Compute.serial(), new ByteArrayInputStream(file()), tokenizer, Pooling.MEAN);
    }

    static String tokenizer() {
        List<String> tokens = TinyModel.VOCABULARY;
        String vocabulary = IntStream.range(0, tokens.size())
                .mapToObj(id -> "\"" + tokens.get(id) + "\": " + id)
                .collect(Collectors.joining(", "));
        return """
            {"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
             "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
             "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 100, "vocab": {%s}}}
            """.formatted(vocabulary);
    }

    @Test
    void vectorsHaveTheBitsOfTheFoldersModel() throws Exception {
        try (SentenceEncoder expected = SentenceEncoder.load(Compute.serial(), TinyModel.write(folder));
                SentenceEncoder actual = load()) {
            assertEquals(TinyModel.POSITIONS, actual.maxTokens());
            assertEquals(0, actual.mappedBytes());
            assertEquals(expected.ownBytes() + expected.mappedBytes(), actual.ownBytes());
            assertArrayEquals(expected.embed("abc de fghij"), actual.embed("abc de fghij"));
        }
    }

    @Test
    void closedMeansClosedWithoutAMappedFileToo() throws Exception {
        SentenceEncoder encoder = load();
        SentenceEncoder view = encoder.withPooling(Pooling.CLS);
        encoder.close();
        encoder.close();
        String message = "encoder: closed; expected an open one";
        assertEquals(
                message,
                assertThrows(IllegalStateException.class, () -> view.embed("abc"))
                        .getMessage());
        assertThrows(IllegalStateException.class, () -> view.attention("abc"));
        assertThrows(IllegalStateException.class, () -> encoder.write(folder.resolve("closed")));
        assertFalse(Files.exists(folder.resolve("closed")));
    }

    /** Weights of products are freed after packing, but the table of word embeddings is read for every text. */
    @Test
    void aTableMayBeReadByAProduct() throws Exception {
        float[] expected;
        try (SentenceEncoder encoder = load()) {
            expected = encoder.embed("abc de fghij");
        }
        wordsAreMultiplied = true;
        try (SentenceEncoder encoder = load()) {
            assertArrayEquals(expected, encoder.embed("abc de fghij"));
        }
    }

    @Test
    void anotherOperationIsNamed() {
        activation = "DynamicQuantizeLinear";
        assertFails(
                "onnx: operations [DynamicQuantizeLinear]; expected the operations of a BERT encoder in f32, [Add, Cast, ");
        activation = "Tanh";
        assertFails("onnx: operations [Tanh]");
        activation = "Mul";
        assertFails("onnx: no Erf; expected the erf form of GELU");
    }

    @Test
    void otherConstantsAreNamed() {
        constants.put("/encoder/layer.1/output/LayerNorm/Add", 1e-5f);
        assertFails("onnx: /encoder/layer.1/output/LayerNorm/Add adds " + (double) 1e-5f + "; expected ");
        constants.remove("/encoder/layer.1/output/LayerNorm/Add");
        assertFails("onnx: no constant at node /encoder/layer.1/output/LayerNorm/Add; expected one");
        constants.put("/encoder/layer.0/attention/self/Div", 2.5f);
        assertFails("onnx: scores are divided by 2.5; expected the square root of a head's size");
    }

    /** 21 elements in heads of 10 elements would be two heads whose size does not match the scale of the scores. */
    @Test
    void headsDivideTheElements() {
        constants.put("/encoder/layer.0/attention/self/Div", (float) Math.sqrt(10));
        assertFails("onnx: scores are divided by " + (double) (float) Math.sqrt(10)
                + "; expected the square root of a head's size, of which the 21 elements are a multiple");
    }

    @Test
    void scoresAreDividedByTheRootOfAHeadsSize() {
        for (float root : new float[] {0, 0.5f, Float.NaN, (float) Math.sqrt(42), (float) Math.sqrt(7.01)}) {
            constants.put("/encoder/layer.0/attention/self/Div", root);
            assertFails("onnx: scores are divided by " + (double) root + "; expected the square root of a head's size");
        }
    }

    @Test
    void oneHeadMayHaveAllElements() throws Exception {
        constants.replaceAll((node, value) -> node.endsWith("/Div") ? (float) Math.sqrt(TinyModel.DIM) : value);
        try (SentenceEncoder one = load()) {
            assertEquals(1, one.attention("abc").weights().dim(1));
        }
    }

    @Test
    void tablesHaveTwoAxes() {
        weights.put("embeddings.position_embeddings.weight", Tensor.of(new float[24 * 21], 1, 24, 21));
        assertFails("tensor \"embeddings.position_embeddings.weight\": shape [1, 24, 21]; expected two axes");
    }

    /** An encoder reads rows of these tables for every text. */
    @Test
    void emptyTablesAreNamed() {
        weights.put("embeddings.token_type_embeddings.weight", Tensor.of(new float[0], 0, TinyModel.DIM));
        assertFails("type_vocab_size: 0; expected at least 1");
    }

    @Test
    void anEpsilonBelowZeroIsNamed() {
        constants.replaceAll((node, value) -> node.endsWith("LayerNorm/Add") ? -1f : value);
        assertFails("layer_norm_eps: -1.0; expected a finite number of at least 0.0");
    }

    @Test
    void weightsThatDoNotFitAreNamed() {
        weights.put("classifier.bias", Tensor.of(new float[3]));
        assertFails("tensors: 1 of no use, such as classifier.bias");
        weights.remove("classifier.bias");
        weights.remove("encoder.layer.0.output.dense.bias");
        assertFails("tensor \"encoder.layer.0.output.dense.bias\": not in the file");
        weights.remove("embeddings.word_embeddings.weight");
        assertFails("tensor \"embeddings.word_embeddings.weight\": not in the file");
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().startsWith(message), wrong.getMessage());
    }
}
