package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.model.Pooling;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Valid model folders, and messages about models that are not implemented. */
class EncoderFolderTest extends TinyModelFolder {
    /** A file, a part of its contents, the replacement, and the message. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "config.json | \"bert\" | \"mpnet\" | config.model_type: mpnet; expected one of [bert, roberta, xlm-roberta, modernbert",
                "config.json | \"model_type\": \"bert\", | | config.model_type: null; expected a string",
                "config.json | \"gelu\" | \"gelu_new\" | config.hidden_act: gelu_new; expected gelu",
                "config.json | \"absolute\" | \"relative_key\" | config.position_embedding_type: relative_key; expected absolute",
                "config.json | \"hidden_size\": 21 | \"hidden_size\": 22 | hidden_size: 22; expected a multiple of 3 heads",
                "config.json | \"hidden_size\": 21 | \"hidden_size\": 24 | expected floating numbers of shape [60, 24]",
                "config.json | \"hidden_size\": 21 | \"hidden_size\": 0 | config.hidden_size: 0; expected an integer from 1",
                "config.json | \"vocab_size\": 60 | \"vocab_size\": 16777216 | expected floating numbers of shape [16777216, 21]",
                "config.json | layers\": 2 | layers\": 3 | tensor \"encoder.layer.2.attention.self.query.weight\": not in the file",
                "config.json | layers\": 2 | layers\": 16777216 | encoder.layer.2.attention.self.query.weight\": not in the file",
                "config.json | layers\": 2 | layers\": 1 | tensors: 16 of no use, such as encoder.layer.1.attention.output.LayerNorm.bias, ",
                "config.json | 1e-7 | \"1e-7\" | config.layer_norm_eps: 1e-7; expected a number",
                "config.json | 1e-7 | -1 | layer_norm_eps: -1.0; expected a finite number of at least 0.0",
                "config.json | embeddings\": 24 | embeddings\": 2 | config.max_position_embeddings: 2; expected an integer from 3",
                "config.json | \"hidden_act\" | \"is_decoder\": true, \"hidden_act\" | config.is_decoder: true; expected false",
                "config.json | \"hidden_act\" | \"quantization_config\": {}, \"hidden_act\" | config.quantization_config: {}; expected none",
                "config.json | { | [ | config: malformed at character 0; expected '{'",
                "modules.json | .Normalize | .LayerNorm | modules.type: sentence_transformers.models.LayerNorm; expected a Transformer",
                "modules.json | .Pooling | .Normalize | modules.type: sentence_transformers.models.Normalize; expected a Transformer",
                "modules.json | 1_Pooling | ../1_Pooling | modules.path: ../1_Pooling; expected a path within the model's folder",
                "modules.json | 1_Pooling | /1_Pooling | modules.path: /1_Pooling; expected a path within the model's folder",
                "modules.json | 1_Pooling | a\\u0000 | expected a path within the model's folder",
                "1_Pooling/config.json | mean_tokens\": true | mean_tokens\": false | pooling: []; expected one or more of [cls_token, max_tokens, mean_tokens, ",
                "1_Pooling/config.json | mean_tokens\": true | lasttoken\": true | config.pooling_mode_mean_tokens: null; expected true or false with [lasttoken]",
                "1_Pooling/config.json | max_tokens\": false | other\": true | pooling: [mean_tokens, other]; expected one or more of",
                "1_Pooling/config.json | cls_token\": false | cls_token\": true, \"include_prompt\": false | config.include_prompt: false; expected true with the first token",
                "1_Pooling/config.json | \"pooling_mode_max | \"include_prompt\": 1, \"pooling_mode_max | config.include_prompt: 1; expected true or false",
                "sentence_bert_config.json | false | true | sentence_bert_config.do_lower_case: true; expected false",
                "sentence_bert_config.json | 12 | 25 | sentence_bert_config.max_seq_length: 25; expected an integer from 3 to 24",
                "vocab.txt | [CLS] | [ABC] | vocabulary: no token \"[CLS]\"; expected one",
            })
    void whatIsNotImplementedIsNamed(String file, String part, String instead, String message) throws Exception {
        Path path = folder.resolve(file);
        String before = Files.readString(path);
        Files.writeString(path, before.replace(part, instead == null ? "" : instead));
        assertTrue(!Files.readString(path).equals(before), "nothing was replaced");
        assertFails(message);
    }

    /** The message must not name modules.json, which refers to the invalid file. */
    @Test
    void theFileThatIsWrongIsTheOneThatIsNamed() throws Exception {
        Path pooling = folder.resolve("1_Pooling/config.json");
        Files.writeString(pooling, "{");
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().startsWith(pooling + ": config: malformed"), wrong.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"config.json", "model.safetensors", "vocab.txt", "1_Pooling/config.json"})
    void aMissingFileIsNamed(String file) throws Exception {
        Files.delete(folder.resolve(file));
        NoSuchFileException missing = assertThrows(NoSuchFileException.class, this::load);
        assertTrue(missing.getMessage().contains(file), missing.getMessage());
    }

    /** A file of 1 MB can contain weights of these sizes, but the number of elements for one text would overflow an int. */
    @Test
    void aBatchThatFitsNoArrayIsNamed() {
        IllegalArgumentException wrong = assertThrows(
                IllegalArgumentException.class, () -> new BertConfig(1, 1, 1, 1 << 17, 60, 1 << 16, 1, 1e-12));
        assertEquals(
                "max_position_embeddings: 65536, with hidden_size 1 and intermediate_size 131072; expected batches of 65536 tokens to"
                        + " fit arrays",
                wrong.getMessage());
        assertEquals(1 << 17, new BertConfig(1, 1, 1, 1 << 17, 60, 1 << 13, 1, 1e-12).inner());
        assertThrows(IllegalArgumentException.class, () -> new BertConfig(1, 1, 1, Integer.MAX_VALUE, 60, 3, 1, 1e-12));
        assertThrows(IllegalArgumentException.class, () -> new BertConfig(Integer.MAX_VALUE, 1, 1, 1, 60, 3, 1, 1e-12));
    }

    @Test
    void everyWeightIsUsedOrNamed() throws Exception {
        rewrite(weights -> weights.put("extra.weight", Tensor.of(new float[4])));
        assertFails("model.safetensors: tensors: 1 of no use, such as extra.weight; expected none");
        rewrite(weights -> weights.remove("encoder.layer.1.output.dense.bias"));
        assertFails("tensor \"encoder.layer.1.output.dense.bias\": not in the file");
        rewrite(weights -> weights.put("encoder.layer.1.output.dense.bias", Tensor.of(new float[4])));
        assertFails("expected floating numbers of shape [21]");
    }

    @Test
    void aVocabularyLargerThanTheModelIsNamed() throws Exception {
        Files.writeString(folder.resolve("vocab.txt"), Files.readString(folder.resolve("vocab.txt")) + "\nmore\nmost");
        assertFails("tokenizer: 61 tokens; expected at most the 60 of the model's word embeddings");
    }

    @Test
    void aCheckpointMayNameThingsOtherwise() throws Exception {
        float[] expected = embed("abc de");
        rewrite(weights -> {
            Map<String, Tensor> plain = new LinkedHashMap<>(weights);
            weights.clear();
            plain.forEach((name, tensor) -> weights.put("bert." + name, tensor));
            weights.put("bert.pooler.dense.weight", Tensor.of(new float[21 * 21], 21, 21));
            weights.put("bert.pooler.dense.bias", Tensor.of(new float[21]));
        });
        assertArrayEquals(expected, embed("abc de"));
    }

    @Test
    void anIgnoredBufferMayHaveAnyElementType() throws Exception {
        float[] expected = embed("abc de");
        rewrite(weights -> weights.put(
                "embeddings.position_ids",
                Tensor.view(MemorySegment.ofArray(new byte[24]), DType.I8, Shape.of(1, 24))));
        Path file = folder.resolve("model.safetensors");
        String bytes = Files.readString(file, StandardCharsets.ISO_8859_1); // one character per byte
        String other = bytes.replace("\"dtype\":\"I8\"", "\"dtype\":\"X8\"");
        assertNotEquals(bytes, other);
        Files.writeString(file, other, StandardCharsets.ISO_8859_1);
        assertArrayEquals(expected, embed("abc de"));
    }

    @Test
    void withoutModulesVectorsAreMeansAndNotNormalized() throws Exception {
        float[] expected;
        try (SentenceEncoder encoder = load()) {
            expected = encoder.withNormalization(false).embed("abc de");
        }
        Files.delete(folder.resolve("modules.json"));
        Files.delete(folder.resolve("sentence_bert_config.json"));
        assertArrayEquals(expected, embed("abc de"));
        try (SentenceEncoder encoder = load()) {
            assertEquals(TinyModel.POSITIONS, encoder.maxTokens());
        }
    }

    /**
     * The folder has the form of sentence-transformers 5.4: other packages of modules, one pooling mode, and the maximum length in the
     * tokenizer's file.
     */
    @Test
    void foldersOfNewerVersionsAreRead() throws Exception {
        float[] expected = embed("abc de");
        Files.writeString(
                folder.resolve("modules.json"),
                TinyModel.MODULES
                        .replace("models.Transformer", "base.modules.transformer.Transformer")
                        .replace("models.Pooling", "sentence_transformer.modules.pooling.Pooling")
                        .replace("models.Normalize", "sentence_transformer.modules.normalize.Normalize"));
        Path pooling = folder.resolve("1_Pooling/config.json");
        Files.delete(folder.resolve("sentence_bert_config.json"));
        for (String mode : new String[] {"\"mean\"", "[\"mean\"]"}) {
            Files.writeString(
                    pooling, "{\"embedding_dimension\": 21, \"pooling_mode\": " + mode + ", \"include_prompt\": true}");
            assertArrayEquals(expected, embed("abc de"));
        }
        Files.writeString(pooling, "{\"embedding_dimension\": 21, \"pooling_mode\": \"cls\"}");
        try (SentenceEncoder encoder = load()) {
            assertArrayEquals(encoder.withPooling(Pooling.CLS).embed("abc"), encoder.embed("abc"));
        }
        for (String mode : new String[] {"\"median\"", "[\"mean\", \"mex\"]", "[\"mean\", 3]", "[]"}) {
            Files.writeString(pooling, "{\"pooling_mode\": " + mode + "}");
            assertFails("expected of [cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken]");
        }
    }

    /** If a model has no limit of tokens, the limit of its tokenizer applies, as in sentence-transformers. */
    @ParameterizedTest
    @CsvSource({"8, 8", "24, 24", "25, 24", "1000000000000000019884624838656, 24", "1e30, 24", "null, 24"})
    void theTokenizersLengthCounts(String length, int expected) throws Exception {
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"model_max_length\": " + length + "}");
        try (SentenceEncoder encoder = load()) {
            assertEquals(12, encoder.maxTokens());
        }
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"do_lower_case\": false}");
        try (SentenceEncoder encoder = load()) {
            assertEquals(expected, encoder.maxTokens());
        }
        Files.delete(folder.resolve("sentence_bert_config.json"));
        try (SentenceEncoder encoder = load()) {
            assertEquals(expected, encoder.maxTokens());
        }
    }

    /** The older name of the limit counts if the newer one is absent, as in transformers. */
    @Test
    void theTokenizersLengthHasAnOlderName() throws Exception {
        Files.delete(folder.resolve("sentence_bert_config.json"));
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"max_len\": 8}");
        try (SentenceEncoder encoder = load()) {
            assertEquals(8, encoder.maxTokens());
        }
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"max_len\": 8, \"model_max_length\": null}");
        try (SentenceEncoder encoder = load()) {
            assertEquals(24, encoder.maxTokens());
        }
    }

    /**
     * Pooling by mean tokens is the default of sentence-transformers. Whether it is added to other pooling modes depends on the version.
     */
    @Test
    void poolingWithoutMeanTokensHasThem() throws Exception {
        float[] expected = embed("abc de");
        Path pooling = folder.resolve("1_Pooling/config.json");
        Files.writeString(pooling, "{\"word_embedding_dimension\": 21}");
        assertArrayEquals(expected, embed("abc de"));
        Files.writeString(pooling, "{\"word_embedding_dimension\": 21, \"pooling_mode_cls_token\": true}");
        assertFails("config.pooling_mode_mean_tokens: null; expected true or false with [cls_token]");
    }

    @Test
    void aTokenizersLengthOfNoTokensIsNamed() throws Exception {
        Files.delete(folder.resolve("sentence_bert_config.json"));
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"model_max_length\": 2}");
        assertFails("tokenizer_config.model_max_length: 2; expected an integer from 3 to 24");
    }

    /** Weights stored in bf16 give the same vectors as these rounded weights in f32. */
    @Test
    void weightsMayBeNarrow() throws Exception {
        try (Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> narrow = new LinkedHashMap<>();
            Map<String, Tensor> wide = new LinkedHashMap<>();
            TinyModel.weights(1).forEach((name, tensor) -> {
                narrow.put(name, tensor.copy(arena, DType.BF16));
                wide.put(name, narrow.get(name).copy(arena, DType.F32));
            });
            TinyModel.write(folder, narrow);
            float[] actual = embed("abc de");
            TinyModel.write(folder, wide);
            assertArrayEquals(embed("abc de"), actual);
        }
    }

    /** Tables are read from the mapped file. All other weights are packed once, with columns padded to a multiple of 32. */
    @Test
    void memoryIsCounted() throws Exception {
        try (SentenceEncoder encoder = load()) {
            long tables = (60 + TinyModel.POSITIONS + 2) * TinyModel.DIM;
            assertEquals(4 * tables, encoder.mappedBytes());
            long products = 21 * 64 + 63 + 21 * 32 + 21 + 21 * 64 + 37 + 37 * 32 + 21;
            assertEquals(4 * (2 * products + 10 * 21), encoder.ownBytes());
        }
    }

    private void rewrite(Consumer<Map<String, Tensor>> change) throws IOException {
        Map<String, Tensor> weights = TinyModel.weights(1);
        change.accept(weights);
        TinyModel.write(folder, weights);
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(folder.toString()), wrong.getMessage());
    }

    /** Folders of other kinds of models are refused, because their vectors would be meaningless. */
    @Test
    void aModelForAnotherTaskIsRefused() throws IOException {
        Path other = folder.resolve("other");
        new TinyReranker(1, 1).write(other);
        assertRefused(
                other, "config.architectures: [BertForSequenceClassification]; expected an encoder, or a Reranker");
        new TinyTokenModel(1).writeAuthors(other);
        assertRefused(other, "config.architectures: [HF_ColBERT]; expected an encoder, or a TokenEncoder");
    }

    private static void assertRefused(Path other, String message) {
        String actual = assertThrows(
                        IllegalArgumentException.class, () -> SentenceEncoder.load(Compute.serial(), other))
                .getMessage();
        assertTrue(actual.contains(message), actual);
        assertTrue(actual.startsWith(other.resolve("config.json").toString()), actual);
    }

    /** A missing {@code modules.json} causes a warning, as in the reference. */
    @Test
    void aFolderWithoutModulesIsTakenWithOneWarning() throws IOException {
        List<String> warnings = new ArrayList<>();
        Logger logger = Logger.getLogger("io.multihead");
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                warnings.add(line.getLevel() + " " + line.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logger.addHandler(handler);
        try {
            load().close();
            assertEquals(List.of(), warnings);
            Files.delete(folder.resolve("modules.json"));
            String config = Files.readString(folder.resolve("config.json"));
            Files.writeString(folder.resolve("config.json"), config.replace("\"bert\"", "\"mpnet\""));
            assertFails("config.model_type: mpnet; expected one of ");
            Files.writeString(folder.resolve("config.json"), config);
            String vocabulary = Files.readString(folder.resolve("vocab.txt"));
            Files.writeString(folder.resolve("vocab.txt"), vocabulary.replace("[CLS]", "[ABC]"));
            assertFails("vocabulary: no token \"[CLS]\"; expected one");
            assertEquals(List.of(), warnings, "of folders that are refused");
            Files.writeString(folder.resolve("vocab.txt"), vocabulary);
            load().close();
        } finally {
            logger.removeHandler(handler);
        }
        assertEquals(
                List.of("WARNING " + folder
                        + ": no modules.json; pooling is the mean, without normalization and prompts"),
                warnings);
    }
}
