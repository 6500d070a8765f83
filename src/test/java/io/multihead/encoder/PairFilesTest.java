package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files of a tokenizer define how two texts become one sequence: the separators, and the type of the tokens of the second text. */
class PairFilesTest {
    private static final TinyReranker MODEL = new TinyReranker(1, 1);
    private static final String TYPED =
            "{A}, {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}},"
                    + " {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 1}}";

    @TempDir
    Path folder;

    @BeforeEach
    void write() throws IOException {
        MODEL.write(folder);
        Files.delete(folder.resolve("vocab.txt"));
        config("{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}");
    }

    private void config(String json) throws IOException {
        Files.writeString(folder.resolve("tokenizer_config.json"), json);
    }

    /** Writes a {@code tokenizer.json} whose template for pairs has these elements after {@code [CLS]}. */
    private void tokenizer(String pair) throws IOException {
        String vocabulary = IntStream.range(0, TinyModel.VOCABULARY.size())
                .mapToObj(id -> "\"" + TinyModel.VOCABULARY.get(id) + "\": " + id)
                .collect(Collectors.joining(", "));
        String text = "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}";
        Files.writeString(folder.resolve("tokenizer.json"), """
                {"added_tokens": [], "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
                 "post_processor": {"type": "TemplateProcessing",
                   "single": [{"SpecialToken": {"id": "[CLS]"}}, TEXT, {"SpecialToken": {"id": "[SEP]"}}],
                   "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, PAIR],
                   "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2]}, "[SEP]": {"id": "[SEP]", "ids": [3]}}},
                 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": {VOCABULARY}}}
                """.replace("PAIR", pair.replace("{A}", text))
                .replace("TEXT", text)
                .replace("VOCABULARY", vocabulary));
    }

    /** Requires that the tokens of the second text have this type and follow this number of separators. */
    private void assertPairs(int type, int separators) throws IOException {
        try (Reranker loaded = Reranker.load(Compute.serial(), folder)) {
            int[] first = loaded.tokenizer().encodeWithSpecialTokens("ab c");
            int[] second = loaded.tokenizer().encodeWithSpecialTokens("de f");
            int[] ids = Arrays.copyOf(first, first.length + separators - 1 + second.length - 1);
            Arrays.fill(ids, first.length, first.length + separators - 1, 3);
            System.arraycopy(second, 1, ids, first.length + separators - 1, second.length - 1);
            int[] types = new int[ids.length];
            Arrays.fill(types, first.length + separators - 1, types.length, type);
            TinyReranker.Outputs expected = MODEL.outputs(ids, types);
            double actual = loaded.withActivation(ScoreActivation.IDENTITY).score("ab c", "de f");
            assertEquals(expected.exact()[0], actual, expected.bounds()[0]);
        }
    }

    @Test
    void theTemplateSaysWhichTypeTheSecondTextHas() throws IOException {
        tokenizer(TYPED);
        assertPairs(1, 1);
        tokenizer(TYPED.replace("\"type_id\": 1", "\"type_id\": 0"));
        assertPairs(0, 1);
        tokenizer(TYPED.replace(", \"type_id\": 0", "").replace(", \"type_id\": 1", ""));
        assertPairs(0, 1);
        String separator = "{\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}}";
        tokenizer(TYPED.replace("\"type_id\": 1", "\"type_id\": 0").replace("{A}, ", "{A}, " + separator + ", "));
        assertPairs(0, 2);
    }

    @Test
    void inputsWithoutTypesHaveType0() throws IOException {
        tokenizer(TYPED);
        config(
                "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"model_input_names\": [\"input_ids\", \"attention_mask\"]}");
        assertPairs(0, 1);
        config(
                "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"model_input_names\": [\"input_ids\", \"token_type_ids\"]}");
        assertPairs(1, 1);
        Files.delete(folder.resolve("tokenizer.json"));
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", TinyModel.VOCABULARY));
        config("{\"model_input_names\": [\"input_ids\", \"attention_mask\"]}");
        assertPairs(0, 1);
        config("{}");
        assertPairs(1, 1);
    }

    /** Invalid templates for pairs are errors of a reranker. An encoder of single texts does not use them. */
    @Test
    void otherTemplatesAreNamed() throws IOException {
        String[] others = {
            TYPED.replace("{A}, {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}}, ", "{A}, "),
            TYPED.replace("\"B\"", "\"A\""),
            TYPED.replace("\"[SEP]\", \"type_id\": 0", "\"[CLS]\", \"type_id\": 0"),
            TYPED.replace("\"[SEP]\", \"type_id\": 0", "\"[SEP]\", \"type_id\": 1"),
            TYPED.replace("\"[SEP]\", \"type_id\": 1", "\"[SEP]\", \"type_id\": 0"),
            TYPED.replace("\"type_id\": 1", "\"type_id\": 2"),
            TYPED + ", {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 1}}",
            "{A}"
        };
        for (String other : others) {
            tokenizer(other);
            String message = assertThrows(IllegalArgumentException.class, () -> Reranker.load(Compute.serial(), folder))
                    .getMessage();
            assertTrue(message.startsWith(folder + ": tokenizer: another template for pairs; expected"), message);
        }
        Files.writeString(folder.resolve("config.json"), TinyModel.CONFIG);
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            assertEquals(TinyModel.DIM, encoder.embed("ab c").length);
        }
    }
}
