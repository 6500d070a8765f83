package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings of a folder that change vectors: those that are not implemented are named, and prompts stay the model's in a packed file. */
class EncoderSettingsTest extends TinyModelFolder {
    /** A file, its contents, and what the message says; without a {@code tokenizer.json}, those of transformers count. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "config_sentence_transformers.json | {\"truncate_dim\": 8} | config_sentence_transformers.truncate_dim: 8; expected null",
                "tokenizer_config.json | {\"tokenizer_class\": \"BertJapaneseTokenizer\"} | tokenizer_config.tokenizer_class: BertJapaneseTokenizer; expected one of [BertTokenizer, BertTokenizerFast]",
                "tokenizer_config.json | {\"cls_token\": \"<s>\"} | tokenizer_config.cls_token: <s>; expected [CLS]",
                "tokenizer_config.json | {\"truncation_side\": \"left\"} | tokenizer_config.truncation_side: left; expected right",
                "special_tokens_map.json | {\"unk_token\": {\"content\": \"<unk>\"}} | special_tokens_map.unk_token: {content=<unk>}; expected [UNK]",
                "tokenizer_config.json | {\"added_tokens_decoder\": {\"59\": {\"content\": \"[new]\"}}} | token \"[new]\" with id 59; expected tokens of the vocabulary",
                "added_tokens.json | {\"[new]\": 59} | added_tokens: token \"[new]\" with id 59; expected tokens of the vocabulary",
                "added_tokens.json | {\"[CLS]\": 3} | added_tokens: token \"[CLS]\" with id 3; expected the vocabulary's id 2",
            })
    void whatWouldGiveOtherVectorsIsNamed(String file, String contents, String message) throws IOException {
        Files.writeString(folder.resolve(file), contents);
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(folder.resolve(file) + ": "), wrong.getMessage());
    }

    @Test
    void whatTransformersWritesForBertIsAccepted() throws IOException {
        float[] expected = embed("abc");
        Files.writeString(folder.resolve("tokenizer_config.json"), """
                {"tokenizer_class": "BertTokenizer", "cls_token": "[CLS]", "sep_token": {"content": "[SEP]"}, "truncation_side": "right",
                 "added_tokens_decoder": {"2": {"content": "[CLS]", "special": true}}}
                """);
        Files.writeString(folder.resolve("special_tokens_map.json"), "{\"unk_token\": \"[UNK]\"}");
        Files.writeString(folder.resolve("added_tokens.json"), "{}");
        assertArrayEquals(expected, embed("abc"));
    }

    /** Before, the prompt of the view that was written became the model's default prompt. */
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
