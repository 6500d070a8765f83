package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.OnnxWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.model.Pooling;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Encoders from GGUF files have the same bits as encoders from a folder with the same weights, and errors name keys and tensors. */
class EncoderGgufTest {
    private static final List<String> TEXTS =
            List.of("", "a", "abc de fgh", "[MASK] q", "query: hello there you", "qwertyuiopa sdfgh jklzx cvbnmqwerty");

    @TempDir
    Path temporary;

    private Path folder;
    private Path file;

    @BeforeEach
    void paths() throws IOException {
        folder = Files.createDirectories(temporary.resolve("folder"));
        file = temporary.resolve("model.gguf");
    }

    private static float[][] embed(Path path, Pooling pooling) throws IOException {
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), path)) {
            int most = Math.min(encoder.maxTokens(), 24);
            return encoder.withPooling(pooling)
                    .withMaxTokens(most)
                    .withNormalization(true)
                    .embed(TEXTS);
        }
    }

    private void requireSame(Pooling pooling) throws IOException {
        float[][] expected = embed(folder, pooling);
        float[][] actual = embed(file, pooling);
        for (int i = 0; i < expected.length; i++) {
            assertArrayEquals(expected[i], actual[i], TEXTS.get(i));
        }
    }

    @Test
    void bertHasTheBitsOfItsFolder() throws IOException {
        TinyModel.write(folder);
        Files.delete(folder.resolve("sentence_bert_config.json"));
        TinyGguf.bert(TinyModel.weights(1)).write(file);
        requireSame(Pooling.MEAN);
        requireSame(Pooling.CLS);
    }

    @Test
    void xlmRHasTheBitsOfItsFolder() throws IOException {
        Map<String, Tensor> weights = TinyXlmR.weights(2, TinyXlmR.FIRST);
        TinyXlmR.write(folder, weights, TinyXlmR.FIRST - 1);
        TinyGguf.xlmR(weights).write(file);
        requireSame(Pooling.MEAN);
    }

    @Test
    void nomicBertHasTheBitsOfItsFolder() throws IOException {
        TinyNomicBert model = new TinyNomicBert(3, false);
        model.write(folder);
        TinyGguf.nomic(model.weights()).write(file);
        requireSame(Pooling.MEAN);
    }

    @Test
    void modernBertHasTheBitsOfItsFolder() throws IOException {
        Map<String, Tensor> weights = TinyModernBert.weights(4, false);
        TinyModernBert.write(folder, TinyModernBert.CONFIG, weights);
        TinyGguf.modern(weights).write(file);
        requireSame(Pooling.CLS);
        TinyModernBert.write(
                folder, TinyModernBert.CONFIG.replace("local_attention\": 7", "local_attention\": 90"), weights);
        TinyGguf global = TinyGguf.modern(weights).set("attention.sliding_window", 90);
        global.write(file);
        requireSame(Pooling.CLS);
    }

    /** The file has trained weights and a whole vocabulary. */
    @Test
    void miniLmHasTheBitsOfItsOnnxFile() throws IOException {
        Map<String, Tensor> weights = new LinkedHashMap<>();
        try (InputStream onnx = Models.open(Models.MINILM)) {
            OnnxWeights stored = OnnxWeights.read(onnx);
            for (String name : stored.names()) {
                if (name.startsWith("embeddings.") || name.startsWith("encoder.")) {
                    Tensor weight = stored.get(name);
                    weights.put(name, Tensor.of(weight.toArray(), weight.shape().toArray()));
                }
            }
        }
        EncoderTokenizer tokenizer = Models.tokenizer();
        List<String> special = List.of("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]");
        List<String> tokens = new ArrayList<>();
        long[] types = new long[tokenizer.vocabularySize()];
        for (int id = 0; id < types.length; id++) {
            String token = tokenizer.token(id);
            types[id] = special.contains(token) ? 3 : 1;
            tokens.add(types[id] == 3 ? token : token.startsWith("##") ? token.substring(2) : "\u2581" + token);
        }
        TinyGguf.bert(weights)
                .set("embedding_length", 384)
                .set("feed_forward_length", 1536)
                .set("block_count", 6)
                .set("attention.head_count", 12)
                .set("context_length", 512)
                .set("attention.layer_norm_epsilon", 1e-12)
                .token("tokens", tokens)
                .token("token_type", types)
                .token("unknown_token_id", 100)
                .token("cls_token_id", 101)
                .token("seperator_token_id", 102)
                .write(file);
        List<String> texts = new ArrayList<>(GoldenTexts.sentences(Models.paragraph()));
        texts.addAll(List.of("\ud55c\uad6d\uc5b4 caf\u00e9", "[MASK] x[SEP]", "y".repeat(101)));
        try (SentenceEncoder expected = MiniLm.load(Compute.serial());
                SentenceEncoder actual = SentenceEncoder.load(Compute.serial(), file)) {
            assertArrayEquals(expected.embed(texts), actual.embed(texts));
        }
    }

    /** The file determines the pooling. Vectors have length 1, and texts may use all positions. */
    @ParameterizedTest
    @CsvSource({"1, MEAN", "2, CLS", "3, LAST"})
    void poolingIsThatOfTheFile(int type, Pooling pooling) throws IOException {
        TinyGguf.bert(TinyModel.weights(1)).set("pooling_type", type).write(file);
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), file)) {
            assertEquals(TinyModel.POSITIONS, encoder.maxTokens());
            float[] vector = encoder.embed("abc de");
            assertArrayEquals(encoder.withPooling(pooling).embed("abc de"), vector);
            double squares = 0;
            for (float x : vector) {
                squares += x * (double) x;
            }
            assertEquals(1, squares, 1e-6);
        }
    }

    @Test
    void aFileWithoutPoolingIsThatOfTheMean() throws IOException {
        TinyGguf gguf = TinyGguf.bert(TinyModel.weights(1));
        gguf.metadata.remove("bert.pooling_type");
        gguf.write(file);
        TinyModel.write(folder);
        Files.delete(folder.resolve("sentence_bert_config.json"));
        requireSame(Pooling.MEAN);
    }

    /** Weights keep their stored values, which are widened to f32, or they are rounded to the requested format. */
    @ParameterizedTest
    @EnumSource(names = {"F16", "BF16"})
    void weightsOfSixteenBitsStay(DType dtype) throws IOException {
        TinyGguf.bert(TinyModel.weights(1)).write(file, dtype);
        Map<String, Tensor> widened = new LinkedHashMap<>();
        TinyModel.weights(1)
                .forEach((name, weight) -> widened.put(
                        name,
                        weight.rank() == 1
                                ? weight
                                : Tensor.of(
                                        weight.copy(Arena.ofAuto(), dtype).toArray(),
                                        weight.shape().toArray())));
        TinyModel.write(folder, widened);
        Files.delete(folder.resolve("sentence_bert_config.json"));
        requireSame(Pooling.MEAN);
        try (SentenceEncoder whole = SentenceEncoder.load(Compute.serial(), folder);
                SentenceEncoder stored = SentenceEncoder.load(Compute.serial(), file);
                SentenceEncoder rounded =
                        SentenceEncoder.load(Compute.serial(), folder, WeightFormat.valueOf(dtype.name()))) {
            assertTrue(stored.ownBytes() < 0.6 * whole.ownBytes(), stored.ownBytes() + " of " + whole.ownBytes());
            assertArrayEquals(rounded.withNormalization(true).embed("abc"), stored.embed("abc"));
        }
    }

    /** In a GGUF file, the head of a cross-encoder has the same names for the pooler of BERT and for the layers of XLM-R. */
    @Test
    void bertRanksWithTheBitsOfItsFolder() throws IOException {
        TinyReranker model = new TinyReranker(5, 1);
        model.write(folder);
        TinyGguf.bert(model.weights()).set("pooling_type", 4).write(file);
        requireSameScores();
        TinyReranker several = new TinyReranker(6, 3);
        several.write(folder);
        TinyGguf.bert(several.weights())
                .set("pooling_type", 4)
                .set("classifier.output_labels", List.of("a", "b", "c"))
                .write(file);
        try (Reranker expected = Reranker.load(Compute.serial(), folder);
                Reranker actual = Reranker.load(Compute.serial(), file)) {
            assertArrayEquals(
                    expected.labelScores("abc", List.of("de fg"))[0], actual.labelScores("abc", List.of("de fg"))[0]);
        }
    }

    @Test
    void xlmRRanksWithTheBitsOfItsFolder() throws IOException {
        Map<String, Tensor> weights = TinyXlmR.classifier(7, TinyXlmR.FIRST);
        TinyXlmR.writeClassifier(folder, weights);
        TinyGguf.xlmR(weights).set("pooling_type", 4).write(file);
        requireSameScores();
    }

    @Test
    void modernBertRanksWithTheBitsOfItsFolder() throws IOException {
        Map<String, Tensor> weights = TinyModernBert.weights(8, false);
        Map<String, Tensor> head = TinyModernBert.head(8, false, 1);
        TinyModernBert.writeReranker(folder, TinyModernBert.CONFIG, weights, head);
        Map<String, Tensor> all = new LinkedHashMap<>(weights);
        all.putAll(head);
        TinyGguf.modern(all).set("pooling_type", 4).write(file);
        requireSameScores();
    }

    private void requireSameScores() throws IOException {
        try (Reranker expected = Reranker.load(Compute.serial(), folder);
                Reranker actual = Reranker.load(Compute.serial(), file)) {
            for (String text : TEXTS) {
                assertEquals(expected.score("abc de", text), actual.score("abc de", text), text);
            }
        }
    }

    /** A packed file of an encoder from GGUF contains a newly written tokenizer file. */
    @Test
    void encodersOfGgufAreWrittenAndMapped() throws IOException {
        TinyGguf.bert(TinyModel.weights(1)).write(file);
        Path packed = temporary.resolve("packed");
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), file)) {
            encoder.write(packed);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), packed)) {
                assertArrayEquals(encoder.embed(TEXTS), mapped.embed(TEXTS));
            }
        }
    }

    private void requireNamed(String message, Consumer<TinyGguf> change) throws IOException {
        TinyGguf gguf = TinyGguf.bert(new TinyReranker(5, 1).weights());
        gguf.tensors.keySet().removeIf(name -> name.startsWith("cls"));
        requireNamed(message, gguf, change);
    }

    private void requireNamed(String message, TinyGguf gguf, Consumer<TinyGguf> change) throws IOException {
        change.accept(gguf);
        gguf.write(file);
        String actual = assertThrows(IllegalArgumentException.class, () -> SentenceEncoder.load(Compute.serial(), file))
                .getMessage();
        assertTrue(actual.startsWith(file + ": " + message), actual);
    }

    @Test
    void tensorsThatAreMissingOrOfNoUseAreNamed() throws IOException {
        requireNamed(
                "tensor \"blk.1.attn_v.weight\": not in the file; expected it beside 36",
                gguf -> gguf.tensors.remove("blk.1.attn_v.weight"));
        requireNamed(
                "tensors: 1 of no use, such as attn_q_norm; expected none",
                gguf -> gguf.tensors.put("attn_q_norm", Tensor.of(new float[1])));
    }

    @Test
    void whatAnotherEncoderWouldReadIsNamed() throws IOException {
        requireNamed(
                "bert.pooling_type: U32 4; expected 1 (mean), 2 (cls) or 3 (last), or a Reranker for this file",
                gguf -> gguf.set("pooling_type", 4));
        requireNamed(
                "general.architecture: STRING \"jina-bert-v2\"; expected bert, nomic-bert or modern-bert; LanguageModel.load reads language models",
                gguf -> gguf.metadata.put("general.architecture", "jina-bert-v2"));
        TinyGguf headless = TinyGguf.bert(TinyModel.weights(1));
        headless.write(file);
        assertEquals(
                file + ": bert.pooling_type: U32 1; expected 4 (rank), or a SentenceEncoder for this file",
                rerankers());
        headless.set("pooling_type", 4).write(file);
        assertEquals(
                file
                        + ": tensor \"cls.weight\": not in the file; expected a cross-encoder's first layer; converters omit"
                        + " this layer of BERT's classifiers",
                rerankers());
        assertEquals(
                file + ": a GGUF file; expected a folder, as GGUF has no head for masked words",
                assertThrows(IllegalArgumentException.class, () -> SparseEncoder.load(Compute.serial(), file))
                        .getMessage());
        assertEquals(
                file
                        + ": a GGUF file; expected a folder, as GGUF has neither prefixes nor lengths of queries and documents",
                assertThrows(IllegalArgumentException.class, () -> TokenEncoder.load(Compute.serial(), file))
                        .getMessage());
        TinyGguf untyped = TinyGguf.bert(new TinyReranker(5, 1).weights())
                .set("pooling_type", 4)
                .token("token_type_count", 1);
        untyped.tensors.computeIfPresent("token_types.weight", (name, types) -> Tensor.of(new float[21], 1, 21));
        untyped.write(file);
        assertEquals(file + ": tokenizer.ggml.token_type_count: U32 1; expected 2, for two texts", rerankers());
    }

    private String rerankers() {
        return assertThrows(IllegalArgumentException.class, () -> Reranker.load(Compute.serial(), file))
                .getMessage();
    }
}
