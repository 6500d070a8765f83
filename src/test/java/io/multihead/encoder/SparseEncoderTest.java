package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sparse vectors, batches and folders of a tiny masked language model. */
@Tag("lanes")
class SparseEncoderTest {
    private static final TinyMasked MODEL = new TinyMasked(1, true);

    @TempDir
    Path folder;

    private SparseEncoder load() throws IOException {
        return SparseEncoder.load(Compute.serial(), folder);
    }

    private static List<String> texts() {
        return TinyReranker.texts(new SplittableRandom(5), 80, 10);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void weightsAreThoseOfTheReference(boolean tied) throws IOException {
        TinyMasked model = new TinyMasked(2, tied);
        model.write(folder);
        for (boolean twice : new boolean[] {false, true}) {
            if (twice) {
                Files.writeString(
                        folder.resolve("1_SpladePooling/config.json"), "{\"activation_function\": \"log1p_relu\"}");
            }
            try (SparseEncoder encoder = load()) {
                int kept = 0;
                List<SparseVector> vectors = encoder.embed(texts());
                for (int i = 0; i < vectors.size(); i++) {
                    int[] ids = encoder.tokenizer().encodeWithSpecialTokens(texts().get(i), 12);
                    requireNear(model.expected(ids), vectors.get(i), twice, texts().get(i));
                    kept += vectors.get(i).size();
                }
                int all = texts().size() * encoder.vocabularySize();
                assertTrue(kept > all / 4 && kept < all, kept + " of " + all);
            }
        }
    }

    /** Requires weights within the bounds. Logarithms have a slope of at most 1, and each is rounded once. */
    private static void requireNear(TinyMasked.Expected expected, SparseVector actual, boolean twice, String text) {
        for (int id = 0; id < expected.logits().length; id++) {
            double logit = expected.logits()[id];
            double weight = Math.log1p(Math.max(0, logit));
            weight = twice ? Math.log1p(weight) : weight;
            double bound = expected.bounds()[id] + 2 * 0x1p-24 * weight;
            assertEquals(weight, actual.weight(id), bound, "\"" + text + "\", word " + id);
            if (Math.abs(logit) > bound) {
                assertEquals(logit > 0, Arrays.binarySearch(actual.ids(), id) >= 0, "word " + id);
            }
        }
    }

    @Test
    void bitsDoNotDependOnBatchOrThreads() throws IOException {
        MODEL.write(folder);
        try (Compute threads = Compute.threads(3);
                SparseEncoder threaded = SparseEncoder.load(threads, folder);
                SparseEncoder encoder = load()) {
            List<SparseVector> all = encoder.embed(texts());
            List<SparseVector> other = threaded.embed(texts());
            for (int i = 0; i < all.size(); i++) {
                requireSame(all.get(i), other.get(i));
                requireSame(all.get(i), encoder.embed(texts().get(i)));
            }
            assertEquals(List.of(), encoder.embed(List.of()));
        }
    }

    private static void requireSame(SparseVector expected, SparseVector actual) {
        assertArrayEquals(expected.ids(), actual.ids());
        assertArrayEquals(expected.weights(), actual.weights());
    }

    /**
     * A warm call allocates two arrays and a vector per text, and their list. This is less than an object per token, which views of rows
     * would need.
     */
    @Test
    void warmCallsAllocateTheirResults() throws IOException {
        MODEL.write(folder);
        List<String> texts = Collections.nCopies(100, "a b c d e f g h i j");
        try (SparseEncoder encoder = load()) {
            long results = encoder.embed(texts).stream()
                    .mapToLong(vector -> 3 * 24 + 8L * vector.size() + 16)
                    .sum();
            long allocated = WarmCalls.allocatedBytes(results + 16 * 100, () -> encoder.embed(texts));
            assertTrue(allocated <= results + 16 * 100, allocated + " bytes for results of " + results);
        }
    }

    @Test
    void aVectorIsSortedAndMultiplied() throws IOException {
        MODEL.write(folder);
        try (SparseEncoder encoder = load()) {
            SparseVector a = encoder.embed("abc de");
            SparseVector b = encoder.embed("f g");
            double sum = 0;
            for (int i = 0; i < a.size(); i++) {
                assertTrue(i == 0 || a.ids()[i - 1] < a.ids()[i]);
                assertTrue(a.weights()[i] > 0);
                assertEquals(a.weights()[i], a.weight(a.ids()[i]));
                sum += (double) a.weights()[i] * b.weight(a.ids()[i]);
            }
            assertTrue(sum > 0);
            assertEquals(sum, a.dot(b), 1e-12);
            assertEquals(sum, b.dot(a), 1e-12);
            assertEquals(0, a.weight(-1));
            assertEquals(60, encoder.vocabularySize());
        }
    }

    @Test
    void textsAreCut() throws IOException {
        MODEL.write(folder);
        SparseEncoder encoder = load();
        assertEquals(12, encoder.maxTokens());
        requireSame(encoder.embed("a b c"), encoder.withMaxTokens(5).embed("a b c d e"));
        requireSame(encoder.embed("a b c d e f g h i j"), encoder.embed("a b c d e f g h i j k l"));
        assertThrows(IllegalArgumentException.class, () -> encoder.withMaxTokens(25));
        assertThrows(IllegalArgumentException.class, () -> encoder.withMaxTokens(2));
        assertEquals(
                "text 1: null; expected a text",
                assertThrows(NullPointerException.class, () -> encoder.embed(Arrays.asList("a", null)))
                        .getMessage());
        requireSame(encoder.embed("a"), encoder.withMaxTokens(24).embed("a"));
        encoder.close();
        assertThrows(IllegalStateException.class, () -> encoder.embed("a"));
        assertThrows(IllegalStateException.class, () -> encoder.embed(List.of()));
    }

    /** Folders may have the form of transformers, or of version 5.4 of sentence-transformers. */
    @Test
    void otherFoldersHaveTheSameVectors() throws IOException {
        MODEL.write(folder);
        SparseVector expected = embed();
        Path modules = folder.resolve("modules.json");
        Files.writeString(
                modules,
                TinyMasked.MODULES
                        .replace("sparse_encoder.models.MLMTransformer", "base.modules.transformer.Transformer")
                        .replace("models.SpladePooling", "modules.splade_pooling.SpladePooling"));
        Files.writeString(folder.resolve("sentence_bert_config.json"), """
                {"transformer_task": "fill-mask", "module_output_name": "token_embeddings", "max_seq_length": 12,
                 "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}}
                """);
        requireSame(expected, embed());
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 12}");
        assertFails("sentence_bert_config.transformer_task: null; expected fill-mask");
        Files.delete(modules);
        requireSame(expected, embed());
    }

    private SparseVector embed() throws IOException {
        try (SparseEncoder encoder = load()) {
            return encoder.embed("abc de");
        }
    }

    /** A decoder and a second bias may be stored, although they equal other weights of the model. RoBERTa has other names. */
    @Test
    void weightsMayBeStoredOtherwise() throws IOException {
        MODEL.write(folder);
        SparseVector expected = embed();
        Map<String, Tensor> weights = MODEL.weights();
        weights.put("cls.predictions.decoder.weight", weights.get("bert.embeddings.word_embeddings.weight"));
        weights.put("cls.predictions.decoder.bias", weights.get("cls.predictions.bias"));
        weights.put("bert.pooler.dense.bias", Tensor.of(new float[21]));
        MODEL.write(folder, weights);
        requireSame(expected, embed());
        weights.remove("cls.predictions.bias");
        MODEL.write(folder, weights);
        requireSame(expected, embed());
        weights.put("cls.predictions.bias", Tensor.of(new float[60]));
        MODEL.write(folder, weights);
        assertFails("tensor \"cls.predictions.decoder.bias\": not that of cls.predictions.bias; expected the same");
        weights.remove("cls.predictions.decoder.bias");
        weights.put("cls.predictions.decoder.weight", Tensor.of(new float[60 * 21], 60, 21));
        MODEL.write(folder, weights);
        assertFails(
                "tensor \"cls.predictions.decoder.weight\": not that of bert.embeddings.word_embeddings.weight; expected the same");
    }

    @Test
    void robertaHasOtherNames() throws IOException {
        Map<String, Tensor> encoder = TinyXlmR.weights(1, 2);
        Map<String, Tensor> all = new LinkedHashMap<>();
        encoder.forEach((name, weight) -> all.put("roberta." + name, weight));
        int words = (int) encoder.get("embeddings.word_embeddings.weight").dim(0);
        SplittableRandom random = new SplittableRandom(1);
        TinyModel.put(all, random, "lm_head.dense.weight", 21, 21);
        TinyModel.put(all, random, "lm_head.dense.bias", 21);
        TinyModel.put(all, random, "lm_head.layer_norm.weight", 21);
        TinyModel.put(all, random, "lm_head.layer_norm.bias", 21);
        TinyModel.put(all, random, "lm_head.bias", words);
        TinyXlmR.write(folder, encoder, 1);
        Safetensors.write(folder.resolve("model.safetensors"), all, Map.of("format", "pt"));
        Files.deleteIfExists(folder.resolve("modules.json"));
        try (SparseEncoder roberta = load()) {
            assertEquals(words, roberta.vocabularySize());
            assertTrue(roberta.embed("abc").size() > 0);
        }
    }

    /** A file, a part of its contents, the replacement, and the message. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "1_SpladePooling/config.json | max | sum | config.pooling_strategy: sum; expected max",
                "1_SpladePooling/config.json | relu | gelu | config.activation_function: gelu; expected relu or log1p_relu",
                "modules.json | SpladePooling\"} | Pooling\"} | modules.type: sentence_transformers.sparse_encoder.models.Pooling; expected a SpladePooling",
                "modules.json | models.MLMTransformer | models.Router | models.Router; expected an MLMTransformer, or",
                "config_sentence_transformers.json | SparseEncoder | SentenceTransformer | model_type: SentenceTransformer; expected SparseEncoder",
                "config_sentence_transformers.json | \"query\": \"\" | \"query\": \"q \" | prompts: {query=q , document=}; expected empty ones",
                "config_sentence_transformers.json | {\"model | {\"max_active_dims\": 64, \"model | max_active_dims: 64; expected null",
                "config.json | BertForMaskedLM | BertModel | config.architectures: [BertModel]; expected a model for masked language",
                "config.json | \"tie_word_embeddings\": true | \"tie_word_embeddings\": false | tensor \"cls.predictions.decoder.weight\": not in the file",
                "config.json | \"tie_word_embeddings\": true | \"tie_word_embeddings\": 1 | config.tie_word_embeddings: 1; expected true or false",
            })
    void whatIsNotImplementedIsNamed(String file, String part, String instead, String message) throws IOException {
        Path path = MODEL.write(folder).resolve(file);
        String before = Files.readString(path);
        assertTrue(before.contains(part), before);
        Files.writeString(path, before.replace(part, instead));
        assertFails(message);
    }

    @Test
    void everyWeightOfTheHeadIsUsedOrNamed() throws IOException {
        Map<String, Tensor> weights = MODEL.weights();
        weights.put("cls.predictions.more", Tensor.of(new float[1]));
        MODEL.write(folder, weights);
        assertFails("tensors: 1 of no use, such as cls.predictions.more; expected none");
        weights.remove("cls.predictions.more");
        weights.remove("cls.predictions.transform.dense.bias");
        MODEL.write(folder, weights);
        assertFails("tensor \"cls.predictions.transform.dense.bias\": not in the file");
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(folder.toString()), wrong.getMessage());
    }
}
