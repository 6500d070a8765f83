package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.text.TextNormalization;
import io.multihead.text.WordPiece;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings of a folder that change vectors. Errors name unsupported settings, and a packed file keeps the prompts of the model. */
class EncoderSettingsTest extends TinyModelFolder {
    /** A file, its contents, and the message. There is no {@code tokenizer.json}, so all settings of transformers count. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "config_sentence_transformers.json | {\"truncate_dim\": 0} | config_sentence_transformers.truncate_dim: 0; expected an integer from 1",
                "config_sentence_transformers.json | {\"truncate_dim\": \"8\"} | config_sentence_transformers.truncate_dim: 8; expected an integer from 1",
                "sentence_bert_config.json | {\"transformer_task\": \"fill-mask\"} | sentence_bert_config.transformer_task: fill-mask; expected feature-extraction",
                "sentence_bert_config.json | {\"module_output_name\": \"scores\"} | sentence_bert_config.module_output_name: scores; expected token_embeddings",
                "sentence_bert_config.json | {\"modality_config\": {\"image\": {}}} | sentence_bert_config.modality_config.text: null; expected an object",
                "sentence_bert_config.json | {\"modality_config\": {\"text\": {\"method\": \"encode\"}}} | modality_config.text.method: encode; expected forward",
                "sentence_bert_config.json | {\"modality_config\": {\"text\": {\"method_output_name\": \"pooler_output\"}}} | text.method_output_name: pooler_output; expected last_hidden_state",
                "sentence_bert_config.json | {\"query_length\": 8} | sentence_bert_config.query_length: 8; expected null",
                "sentence_bert_config.json | {\"document_length\": 8} | sentence_bert_config.document_length: 8; expected null",
                "sentence_bert_config.json | {\"query_expansion\": {\"length\": 8}} | sentence_bert_config.query_expansion: {length=8}; expected null",
                "sentence_bert_config.json | {\"processing_kwargs\": {\"text\": {\"max_length\": 8}}} | processing_kwargs: {text={max_length=8}}; expected none",
                "sentence_bert_config.json | {\"tokenizer_args\": {\"do_lower_case\": false}} | tokenizer_args: {do_lower_case=false}; expected none",
                "tokenizer_config.json | {\"tokenizer_class\": \"BertJapaneseTokenizer\"} | tokenizer_config.tokenizer_class: BertJapaneseTokenizer; expected one of [BertTokenizer, BertTokenizerFast]",
                "tokenizer_config.json | {\"cls_token\": \"<s>\"} | tokenizer_config.cls_token: <s>; expected [CLS]",
                "tokenizer_config.json | {\"truncation_side\": \"left\"} | tokenizer_config.truncation_side: left; expected right",
                "special_tokens_map.json | {\"unk_token\": {\"content\": \"<unk>\"}} | special_tokens_map.unk_token: {content=<unk>}; expected [UNK]",
                "tokenizer_config.json | {\"added_tokens_decoder\": {\"59\": {\"content\": \"[new]\", \"special\": true}}} | token \"[new]\" with id 59; expected none but [[PAD], [UNK], [CLS], [SEP], [MASK]]",
                "tokenizer_config.json | {\"added_tokens_decoder\": {\"59\": {\"content\": \"[x]\", \"special\": true}}} | token \"[x]\" with id 59; expected none but [[PAD],",
                "tokenizer_config.json | {\"added_tokens_decoder\": {\"4\": {\"content\": \"[MASK]\", \"single_word\": true}}} | tokenizer_config.added_tokens_decoder.4.single_word: true; expected false",
                "tokenizer_config.json | {\"added_tokens_decoder\": {\"4\": {\"content\": \"[MASK]\", \"normalized\": true}}} | tokenizer_config.added_tokens_decoder.4.normalized: true; expected false",
                "tokenizer_config.json | {\"mask_token\": {\"content\": \"[MASK]\", \"lstrip\": true}} | tokenizer_config.mask_token.lstrip: true; expected false",
                "tokenizer_config.json | {\"mask_token\": \"<m>\"} | tokenizer_config.mask_token: <m>; expected [MASK]",
                "tokenizer_config.json | {\"pad_token\": \"<m>\"} | tokenizer_config.pad_token: <m>; expected [PAD]",
                "tokenizer_config.json | {\"eos_token\": \"[x]\"} | tokenizer_config.eos_token: [x]; expected none but [[PAD],",
                "tokenizer_config.json | {\"extra_special_tokens\": {\"x\": \"[x]\"}} | tokenizer_config.extra_special_tokens: {x=[x]}; expected none but [[PAD],",
                "tokenizer_config.json | {\"split_special_tokens\": true} | tokenizer_config.split_special_tokens: true; expected false",
                "special_tokens_map.json | {\"additional_special_tokens\": [\"[x]\"]} | special_tokens_map.additional_special_tokens: [[x]]; expected none but [[PAD],",
                "special_tokens_map.json | {\"additional_special_tokens\": [{\"content\": \"<new>\", \"normalized\": false}]} | special_tokens_map.additional_special_tokens: [{content=<new>, normalized=false}]; expected none but [[PAD],",
                "special_tokens_map.json | {\"additional_special_tokens\": [null]} | special_tokens_map.additional_special_tokens: [null]; expected none but [[PAD],",
                "added_tokens.json | {\"[x]\": 59} | added_tokens: token \"[x]\" with id 59; expected none but [[PAD], [UNK], [CLS], [SEP], [MASK]]",
                "added_tokens.json | {\"[CLS]\": 3} | added_tokens: token \"[CLS]\" with id 3; expected the vocabulary's id 2",
            })
    void whatWouldGiveOtherVectorsIsNamed(String file, String contents, String message) throws IOException {
        Files.writeString(folder.resolve("vocab.txt"), "\n[x]", StandardOpenOption.APPEND);
        Files.writeString(folder.resolve(file), contents);
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(folder.resolve(file) + ": "), wrong.getMessage());
    }

    /** A module of version 5 of sentence-transformers may work on the vectors of tokens. */
    @Test
    void normalizationOfTokensIsNamed() throws IOException {
        float[] expected = embed("abc");
        Path file = Files.createDirectories(folder.resolve("2_Normalize")).resolve("config.json");
        Files.writeString(
                file,
                "{\"module_input_name\": \"sentence_embedding\", \"module_output_name\": \"sentence_embedding\"}");
        assertArrayEquals(expected, embed("abc"));
        for (String member : new String[] {"module_input_name", "module_output_name"}) {
            Files.writeString(file, "{\"" + member + "\": \"token_embeddings\"}");
            IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
            assertEquals(
                    file + ": config." + member + ": token_embeddings; expected sentence_embedding",
                    wrong.getMessage());
        }
    }

    /** The settings have the form of sentence-transformers 5.4, with arguments that do not change vectors. */
    @Test
    void theSettingsOfPlainTextsAreAccepted() throws IOException {
        float[] expected = embed("abc");
        Files.writeString(folder.resolve("sentence_bert_config.json"), """
                {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings", "unpad_inputs": false,
                 "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
                 "processing_kwargs": {}, "query_expansion": null, "config_args": {"trust_remote_code": false},
                 "model_args": {"attn_implementation": "sdpa"}}
                """);
        assertArrayEquals(expected, embed("abc"));
    }

    /** Contents of {@code tokenizer_config.json} that make transformers change the tokenizer of {@code tokenizer.json}. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"tokenizer_class\": \"XLMRobertaTokenizer\"} | tokenizer_class: XLMRobertaTokenizer; expected one of [BertTokenizer,",
                "{\"added_tokens_decoder\": {\"59\": {\"content\": \"[new]\", \"special\": true}}} | token \"[new]\" with id 59; expected none but [[PAD],",
                "{\"added_tokens_decoder\": {\"5\": {\"content\": \"[MASK]\"}}} | with id 5; expected the vocabulary's id 4",
                "{\"added_tokens_decoder\": {\"4\": {\"content\": \"[MASK]\", \"rstrip\": true}}} | 4.rstrip: true; expected false",
                "{\"cls_token\": \"<s>\"} | tokenizer_config.cls_token: <s>; expected [CLS]",
                "{\"sep_token\": {\"content\": \"[MASK]\"}} | tokenizer_config.sep_token: {content=[MASK]}; expected [SEP]",
                "{\"mask_token\": {\"content\": \"[MASK]\", \"lstrip\": true}} | mask_token.lstrip: true; expected false",
                "{\"additional_special_tokens\": [\"abc\"]} | additional_special_tokens: [abc]; expected none but [[PAD],",
                "{\"split_special_tokens\": true} | tokenizer_config.split_special_tokens: true; expected false",
                "{\"added_tokens_decoder\": {\"59\": {\"content\": \"[new]\"}}} | added_tokens_decoder.59.normalized: null; expected false",
            })
    void aConfigurationAgreesWithTheTokenizer(String contents, String message) throws IOException {
        assertDisagrees("tokenizer_config.json", contents, message);
    }

    /** Files that version 4 of transformers reads in addition to {@code tokenizer.json}. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "special_tokens_map.json | {\"unk_token\": \"<unk>\"} | special_tokens_map.unk_token: <unk>; expected [UNK]",
                "special_tokens_map.json | {\"additional_special_tokens\": [\"abc\"]} | additional_special_tokens: [abc]; expected none but [[PAD],",
                "added_tokens.json | {\"[x]\": 59} | added_tokens: token \"[x]\" with id 59; expected none but [[PAD],",
                "added_tokens.json | {\"[MASK]\": 3} | added_tokens: token \"[MASK]\" with id 3; expected the vocabulary's id 4",
            })
    void otherFilesAgreeWithTheTokenizer(String file, String contents, String message) throws IOException {
        assertDisagrees(file, contents, message);
    }

    private void assertDisagrees(String file, String contents, String message) throws IOException {
        WordPiece uncased = WordPiece.ofVocabulary(TinyModel.VOCABULARY, TextNormalization.UNCASED);
        Files.write(folder.resolve("tokenizer.json"), uncased.toTokenizerJson());
        Path config = folder.resolve(file);
        Files.writeString(config, contents);
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().startsWith(config + ": "), wrong.getMessage());
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
    }

    /**
     * Settings of published models: all-MiniLM-L6-v2, a model of version 5 of transformers, and a {@code tokenizer.json} with more tokens.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"do_lower_case\": true, \"unk_token\": \"[UNK]\", \"tokenize_chinese_chars\": true, \"strip_accents\": null,"
                        + " \"model_max_length\": 512, \"never_split\": null, \"tokenizer_class\": \"BertTokenizer\"}",
                "{\"backend\": \"tokenizers\", \"do_lower_case\": true, \"tokenizer_class\": \"TokenizersBackend\"}",
                "{\"mask_token\": {\"content\": \"[MASK]\", \"lstrip\": false}, \"additional_special_tokens\": [\"[x]\"],"
                        + " \"never_split\": [\"abc\"], \"bos_token\": null, \"pad_token\": \"[x]\"}",
                "{\"added_tokens_decoder\": {\"0\": {\"content\": \"[PAD]\", \"normalized\": false}, \"57\": {\"content\": \"[x]\", \"special\": true}}}",
            })
    void whatAgreesWithTheTokenizerIsAccepted(String contents) throws IOException {
        float[] expected = embed("abc");
        WordPiece uncased = WordPiece.ofVocabulary(TinyModel.VOCABULARY, TextNormalization.UNCASED);
        String json = new String(uncased.toTokenizerJson(), StandardCharsets.UTF_8);
        int more = TinyModel.VOCABULARY.size();
        Files.writeString(
                folder.resolve("tokenizer.json"),
                json.replaceFirst("\\[\\{", "[{\"id\": " + more + ", \"content\": \"[x]\"}, {"));
        Files.writeString(folder.resolve("tokenizer_config.json"), contents.replace("57", String.valueOf(more)));
        Files.writeString(
                folder.resolve("special_tokens_map.json"), "{\"unk_token\": \"[UNK]\", \"eos_token\": \"[x]\"}");
        Files.writeString(folder.resolve("added_tokens.json"), "{\"[x]\": " + more + "}");
        assertArrayEquals(expected, embed("abc"));
    }

    /** Settings have the form of versions 4 and 5 of transformers, with tokens as strings and as objects. */
    @Test
    void whatTransformersWritesForBertIsAccepted() throws IOException {
        float[] expected = embed("abc");
        String flags = "\", \"lstrip\": false, \"normalized\": false, \"rstrip\": false, \"single_word\": false";
        StringBuilder added = new StringBuilder();
        StringBuilder names = new StringBuilder();
        for (int id = 0; id < 5; id++) {
            String token = TinyModel.VOCABULARY.get(id);
            String object = "{\"content\": \"" + token + flags;
            String between = id == 0 ? "" : ", ";
            String name = token.substring(1, token.length() - 1).toLowerCase(Locale.ROOT) + "_token";
            added.append(between + "\"" + id + "\": " + object + ", \"special\": true}");
            names.append(between + "\"" + name + "\": " + object + "}");
        }
        Files.writeString(
                folder.resolve("tokenizer_config.json"),
                "{\"added_tokens_decoder\": {" + added
                        + "}, \"additional_special_tokens\": [], \"clean_up_tokenization_spaces\": true,"
                        + " \"cls_token\": \"[CLS]\", \"do_basic_tokenize\": true, \"do_lower_case\": true, \"extra_special_tokens\": {},"
                        + " \"mask_token\": \"[MASK]\", \"model_max_length\": 512, \"never_split\": null, \"pad_token\": \"[PAD]\","
                        + " \"sep_token\": \"[SEP]\", \"strip_accents\": null, \"tokenize_chinese_chars\": true,"
                        + " \"tokenizer_class\": \"BertTokenizer\", \"unk_token\": \"[UNK]\"}");
        Files.writeString(folder.resolve("special_tokens_map.json"), "{" + names + "}");
        assertArrayEquals(expected, embed("abc"));
    }

    @Test
    void whatNamesNoOtherTokenIsAccepted() throws IOException {
        float[] expected = embed("abc");
        Files.writeString(folder.resolve("tokenizer_config.json"), """
                {"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": {"content": "[SEP]"}, "truncation_side": "right",
                 "never_split": [], "extra_special_tokens": [], "bos_token": null, "eos_token": "[SEP]",
                 "additional_special_tokens": ["[MASK]"],
                 "added_tokens_decoder": {"2": {"content": "[CLS]", "special": true}}}
                """);
        Files.writeString(folder.resolve("special_tokens_map.json"), "{\"unk_token\": \"[UNK]\"}");
        Files.writeString(folder.resolve("added_tokens.json"), "{}");
        assertArrayEquals(expected, embed("abc"));
    }

    /** The prompt of the written view must not become the default prompt of the model. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"'{\"query\": \"q \"}' |", "'{\"query\": \"q \", \"title\": \"t \"}' | title", "'{}' |"})
    void aPackedFileKeepsTheDefaultPrompt(String prompts, String defaultName) throws IOException {
        String named = defaultName == null ? "null" : "\"" + defaultName + "\"";
        Files.writeString(
                folder.resolve("config_sentence_transformers.json"),
                "{\"prompts\": " + prompts + ", \"default_prompt_name\": " + named + "}");
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = load()) {
            for (SentenceEncoder view : new SentenceEncoder[] {
                encoder, encoder.forQueries(), encoder.withPrompt("a "), encoder.withPrompt("")
            }) {
                view.write(file);
                try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                    assertArrayEquals(view.embed("b c"), mapped.embed("b c"));
                    assertArrayEquals(
                            view.forDocuments().embed("b c"),
                            mapped.forDocuments().embed("b c"));
                    assertArrayEquals(
                            view.forQueries().embed("b c"), mapped.forQueries().embed("b c"));
                }
            }
        }
    }
}
