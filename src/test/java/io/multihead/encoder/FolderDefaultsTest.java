package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.text.TextNormalization;
import io.multihead.text.Tokenizers;
import io.multihead.text.WordPiece;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests every setting of a model folder that has a default in the reference, transformers 4.57.6 and 5.18.0 and sentence-transformers
 * 6.0.1. If the setting or its file is missing, the result equals the result with the default. Another value has another result, or the
 * error names the setting.
 */
class FolderDefaultsTest extends TinyModelFolder {
    private static final List<String> VOCABULARY = vocabulary();
    private static final String TEXT = "Caf\u00e9 cafe \u4e2d\u6587 a[MASK]b [PAD]";

    private static List<String> vocabulary() {
        List<String> tokens = new ArrayList<>(TinyModel.VOCABULARY.subList(0, 5));
        tokens.addAll(List.of(
                "cafe", "Caf\u00e9", "caf\u00e9", "Cafe", "\u4e2d", "\u6587", "\u4e2d\u6587", "a", "b", "[", "]"));
        tokens.addAll(List.of("mask", "MASK", "pad", "PAD"));
        return tokens;
    }

    /** Members of {@code config.json}: the name, the default, another value, and the message if other values are not implemented. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "hidden_size | 768 | 24 |",
                "num_hidden_layers | 12 | 2 |",
                "num_attention_heads | 12 | 3 |",
                "intermediate_size | 3072 | 37 |",
                "vocab_size | 30522 | 60 |",
                "max_position_embeddings | 512 | 24 |",
                "type_vocab_size | 2 | 1 |",
                "layer_norm_eps | 1e-12 | 1e-5 |",
                "hidden_act | \"gelu\" | \"relu\" | config.hidden_act: relu; expected gelu",
                "position_embedding_type | \"absolute\" | \"relative_key\" | config.position_embedding_type: relative_key; expected absolute",
                "is_decoder | false | true | config.is_decoder: true; expected false",
                "add_cross_attention | false | true | config.add_cross_attention: true; expected false",
                "pruned_heads | {} | {\"0\": [1]} | config.pruned_heads: {0=[1]}; expected none",
                "quantization_config | null | {} | config.quantization_config: {}; expected none",
            })
    void sizesOfTheModel(String member, String byDefault, String other, String message) {
        assertEquals(config(""), config(", \"" + member + "\": " + byDefault));
        String others = config(", \"" + member + "\": " + other);
        assertNotEquals(config(""), others);
        assertTrue(message == null || others.endsWith(message), others);
    }

    private static String config(String members) {
        byte[] utf8 = ("{\"model_type\": \"bert\"" + members + "}").getBytes(StandardCharsets.UTF_8);
        try {
            return BertConfig.of(new JsonObject("config", Json.object("config", utf8)))
                    .toString();
        } catch (IllegalArgumentException wrong) {
            return wrong.getMessage();
        }
    }

    /** Settings of the other files are in a table with the same columns. */
    @ParameterizedTest
    @CsvFileSource(resources = "/encoder/defaults.csv", delimiter = '|', quoteCharacter = '`', numLinesToSkip = 1)
    void settingsOfAllFiles(String file, String member, String byDefault, String other, String message)
            throws IOException {
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", VOCABULARY));
        Files.writeString(folder.resolve("1_Pooling/config.json"), "{}");
        Files.delete(folder.resolve("sentence_bert_config.json"));
        Path path = folder.resolve(file);
        Files.createDirectories(path.getParent());
        for (boolean json : new boolean[] {false, true}) {
            if (json) { // a tokenizer.json with the opposite of all defaults
                WordPiece cased = WordPiece.ofVocabulary(VOCABULARY, new TextNormalization(true, false, false, false));
                String described = new String(cased.toTokenizerJson(), StandardCharsets.UTF_8);
                Files.writeString(
                        folder.resolve("tokenizer.json"),
                        described.replaceFirst("(?s)\"added_tokens\": ?\\[\\{.*?\\}\\]", "\"added_tokens\":[]"));
            }
            Files.deleteIfExists(path);
            if (file.startsWith("1_")) {
                Files.writeString(path, "{}");
            }
            String absent = outcome();
            Files.writeString(path, "{}");
            assertEquals(absent, outcome());
            Files.writeString(path, "{\"" + member + "\": " + byDefault + "}");
            assertEquals(absent, outcome());
            Files.writeString(path, "{\"" + member + "\": " + other + "}");
            String others = outcome();
            assertNotEquals(absent, others);
            assertTrue(message == null || others.startsWith(path + ": ") && others.contains(message), others);
        }
    }

    /** Returns tokens, vectors, the maximum length and prompts, or the error. */
    private String outcome() throws IOException {
        try (SentenceEncoder encoder = load()) {
            return Arrays.toString(encoder.tokenizer().encodeWithSpecialTokens(TEXT))
                    + Arrays.toString(encoder.embed(TEXT))
                    + encoder.maxTokens()
                    + encoder.prompts()
                    + Arrays.toString(encoder.forQueries().embed("a"));
        } catch (IllegalArgumentException wrong) {
            return wrong.getMessage();
        }
    }

    /** With the tokenizer class of the model, transformers replaces the normalization and the special tokens of {@code tokenizer.json}. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"tokenizer_class\": \"BertTokenizerFast\"}",
                "{\"do_lower_case\": true, \"strip_accents\": true}",
                "{\"mask_token\": \"[MASK]\", \"do_basic_tokenize\": false, \"never_split\": [\"a\"]}"
            })
    void theTokenizersClassDecides(String config) throws IOException {
        WordPiece cased = WordPiece.ofVocabulary(VOCABULARY, new TextNormalization(true, false, false, false));
        Files.write(folder.resolve("tokenizer.json"), cased.toTokenizerJson());
        Files.writeString(folder.resolve("tokenizer_config.json"), config);
        assertArrayEquals(
                new int[] {2, 5, 5, 9, 10, 12, 4, 13, 0, 3},
                Tokenizers.loadEncoder(folder).encodeWithSpecialTokens(TEXT));
        for (String type : new String[] {"PreTrainedTokenizerFast", "TokenizersBackend"}) {
            // with these classes the tokenizer is not changed, for any settings
            Files.writeString(
                    folder.resolve("tokenizer_config.json"),
                    "{\"tokenizer_class\": \"" + type
                            + "\", \"do_lower_case\": true, \"tokenize_chinese_chars\": true}");
            assertArrayEquals(
                    new int[] {2, 6, 5, 11, 12, 4, 13, 0, 3},
                    Tokenizers.loadEncoder(folder).encodeWithSpecialTokens(TEXT));
        }
        Files.delete(folder.resolve("tokenizer_config.json"));
        Files.writeString(
                folder.resolve("config.json"),
                "{\"model_type\": \"bert\", \"tokenizer_class\": \"PreTrainedTokenizerFast\"}");
        assertArrayEquals(
                new int[] {2, 6, 5, 11, 12, 4, 13, 0, 3},
                Tokenizers.loadEncoder(folder).encodeWithSpecialTokens(TEXT));
    }

    /**
     * If {@code modules.json} is missing, the files of sentence-transformers with lengths and prompts are ignored, as in
     * sentence-transformers.
     */
    @Test
    void filesOfSentenceTransformersCountBesideModulesAlone() throws IOException {
        Files.writeString(
                folder.resolve("config_sentence_transformers.json"),
                "{\"prompts\": {\"x\": \"a \"}, \"default_prompt_name\": \"x\"}");
        try (SentenceEncoder encoder = load()) {
            assertEquals(12, encoder.maxTokens());
            assertArrayEquals(encoder.withPrompt("a ").embed("b"), encoder.embed("b"));
        }
        Files.delete(folder.resolve("modules.json"));
        try (SentenceEncoder encoder = load()) {
            assertEquals(TinyModel.POSITIONS, encoder.maxTokens());
            assertArrayEquals(encoder.withPrompt("").embed("b"), encoder.embed("b"));
            assertEquals("{}", encoder.prompts().toString());
        }
    }

    /** The file of settings may have the name of another model. The first of these files that has members counts. */
    @Test
    void theSettingsHaveHadOtherNames() throws IOException {
        Files.writeString(folder.resolve("sentence_roberta_config.json"), "{\"max_seq_length\": 9}");
        Files.writeString(folder.resolve("sentence_xlnet_config.json"), "{\"max_seq_length\": 10}");
        int[] expected = {12, 9, 10, TinyModel.POSITIONS};
        String[] names = {"bert", "roberta", "xlnet"};
        for (int i = 0; i < expected.length; i++) {
            try (SentenceEncoder encoder = load()) {
                assertEquals(expected[i], encoder.maxTokens());
            }
            if (i < names.length) {
                Files.writeString(folder.resolve("sentence_" + names[i] + "_config.json"), "{}");
            }
        }
    }

    /** transformers adds {@code [MASK]} to a vocabulary without it. If the model has no row for this token, a text with it is refused. */
    @Test
    void anAddedTokenMayHaveNoVector() throws IOException {
        Path file = folder.resolve("vocab.txt");
        Files.writeString(file, Files.readString(file).replace("[MASK]", "other"));
        try (SentenceEncoder encoder = load()) {
            assertArrayEquals(new int[] {2, 59, 3}, encoder.tokenizer().encodeWithSpecialTokens("[MASK]"));
            assertEquals(TinyModel.DIM, encoder.embed("[MASK]").length);
        }
        Files.writeString(file, Files.readString(file) + "\nmore");
        try (SentenceEncoder encoder = load()) {
            assertEquals(TinyModel.DIM, encoder.embed("abc").length);
            String message = "token 2: 60; expected 0 to 59";
            assertEquals(
                    message,
                    assertThrows(IllegalArgumentException.class, () -> encoder.embed("a [MASK]"))
                            .getMessage());
            assertEquals(
                    message,
                    assertThrows(IllegalArgumentException.class, () -> encoder.attention("a [MASK]"))
                            .getMessage());
            Path packed = folder.resolve("packed");
            encoder.write(packed);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), packed)) {
                assertArrayEquals(encoder.embed("abc"), mapped.embed("abc"));
            }
        }
    }
}
