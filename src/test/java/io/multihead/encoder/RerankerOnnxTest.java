package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.OnnxFile;
import io.multihead.support.OnnxMessage;
import io.multihead.tensor.Tensor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tiny cross-encoder in the form in which PyTorch's exporter would write it. */
class RerankerOnnxTest {
    private static final List<String> HEAD = List.of("bert.pooler.dense.weight", "classifier.weight");

    @TempDir
    Path folder;

    private TinyReranker model = new TinyReranker(1, 1);
    private String activation = "Tanh";
    /** Whether the products of the head have the attribute that transposes weights, as PyTorch writes them. */
    private boolean transposed = true;

    private float alpha = 1;

    /** Returns a file whose encoder has names with a prefix, as a part of a model. */
    private byte[] file() {
        Map<String, Float> constants = new LinkedHashMap<>();
        constants.put("/bert/embeddings/LayerNorm/Add", (float) TinyModel.EPSILON);
        for (int layer = 0; layer < TinyModel.LAYERS; layer++) {
            String block = "/bert/encoder/layer." + layer;
            constants.put(block + "/attention/self/Div", (float) Math.sqrt(7));
            constants.put(block + "/attention/output/LayerNorm/Add", (float) TinyModel.EPSILON);
            constants.put(block + "/output/LayerNorm/Add", (float) TinyModel.EPSILON);
        }
        Map<String, Tensor> encoder = new LinkedHashMap<>(model.named());
        encoder.keySet().removeAll(HEAD);
        // readers merge the second graph into the first, because the format merges messages
        return concatenated(
                OnnxFile.bert(encoder, constants, "Erf", name -> name.startsWith("bert.encoder.")),
                OnnxFile.model(head()));
    }

    private OnnxMessage head() {
        OnnxMessage graph =
                new OnnxMessage().message(1, OnnxFile.node("/bert/pooler/activation/Tanh", activation, "p"));
        for (String name : HEAD) {
            Tensor weight = model.named().get(name);
            Tensor stored = transposed ? weight : weight.permute(1, 0);
            String file = transposed ? name : "onnx::Gemm_" + name.length();
            String node = "/" + name.replace(".weight", "").replace('.', '/') + "/Gemm";
            graph.message(
                            1,
                            OnnxFile.node(node, "Gemm", node + "_0", "x", file, name.replace("weight", "bias"))
                                    .message(
                                            5,
                                            new OnnxMessage().text(1, "alpha").real(2, alpha))
                                    .message(
                                            5,
                                            new OnnxMessage().text(1, "transB").number(3, transposed ? 1 : 0)))
                    .message(
                            5,
                            OnnxFile.tensor(
                                    file, stored.toArray(), stored.shape().toArray()));
        }
        return graph;
    }

    private static byte[] concatenated(byte[] first, byte[] second) {
        byte[] both = new byte[first.length + second.length];
        System.arraycopy(first, 0, both, 0, first.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    private Reranker load() throws IOException {
        return Reranker.ofOnnx(
                Compute.serial(),
                new ByteArrayInputStream(file()),
                new ByteArrayInputStream(BertOnnxTest.tokenizer().getBytes(java.nio.charset.StandardCharsets.UTF_8)));
    }

    @Test
    void scoresHaveTheBitsOfTheFoldersModel() throws IOException {
        List<String> passages = TinyReranker.texts(new SplittableRandom(8), 40, 8);
        try (Reranker expected = Reranker.load(Compute.serial(), model.write(folder));
                Reranker actual = load()) {
            assertEquals(TinyModel.POSITIONS, actual.maxTokens());
            assertEquals(ScoreActivation.SIGMOID, actual.activation());
            assertEquals(0, actual.mappedBytes());
            assertEquals(expected.ownBytes() + expected.mappedBytes(), actual.ownBytes());
            assertArrayEquals(expected.score("ab c", passages), actual.score("ab c", passages));
        }
    }

    /** Without the attribute, Gemm reads weights as {@code [inputs, outputs]}, as MatMul does. */
    @Test
    void aGemmMayReadWeightsAsTheyAre() throws IOException {
        double expected;
        try (Reranker plain = load()) {
            expected = plain.score("ab", "cd");
        }
        transposed = false;
        try (Reranker other = load()) {
            assertEquals(expected, other.score("ab", "cd"));
        }
    }

    @Test
    void severalLabelsHaveNoFunction() throws IOException {
        model = new TinyReranker(2, 3);
        try (Reranker three = load()) {
            assertEquals(3, three.labels());
            assertEquals(ScoreActivation.IDENTITY, three.activation());
        }
    }

    @Test
    void whatDoesNotFitIsNamed() {
        alpha = 0.5f;
        assertFails(
                "onnx: Gemm /bert/pooler/dense/Gemm with alpha 0.5; expected 1.0", "onnx: Gemm /classifier/Gemm with");
        alpha = Float.NaN;
        assertFails(
                "onnx: Gemm /bert/pooler/dense/Gemm with alpha NaN; expected 1.0", "onnx: Gemm /classifier/Gemm with");
        alpha = 1;
        activation = "Relu";
        assertFails("onnx: operations [Relu]; expected the operations of a BERT encoder in f32, [Add, ");
        activation = "Mul";
        assertFails("onnx: no Tanh; expected the activation of the pooler");
        activation = "Tanh";
        model.weights().remove("classifier.bias");
        assertFails("tensor \"classifier.bias\": not in the file");
    }

    private void assertFails(String... messages) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(
                List.of(messages).stream()
                        .anyMatch(message -> wrong.getMessage().startsWith(message)),
                wrong.getMessage());
    }
}
