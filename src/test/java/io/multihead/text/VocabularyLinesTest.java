package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Lines of a {@code vocab.txt} that are not plain tokens. The ids are from transformers 4.57.6 and 5.18.0, which return
 * the same ids.
 */
class VocabularyLinesTest {
    private static final String SPECIAL = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

    @TempDir
    Path folder;

    /**
     * A row has a file, a text and its ids. The file is given by the lines after the special tokens, or completely if
     * its special tokens differ.
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'[PAD]\n\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n\ncafe\na' | cafe a [MASK] | 3 7 8 5 4",
                "'[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\ncafe\r\na' | cafe a [MASK] | 2 5 6 4 3",
                "'\ufeff[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncafe\na' | cafe a [MASK] [PAD] | 2 5 6 4 7 3",
                "'[UNK]\n[CLS]\n[SEP]\ncafe\na' | [MASK] a [PAD] cafe | 1 6 4 5 3 2",
                "'cafe\na\n\n\n' | cafe a [MASK] | 2 5 6 4 3",
                "'cafe\na\ncafe' | cafe a [MASK] | 2 7 6 4 3",
                "'cafe\n\u2028\na\u0085b\na' | cafe a [MASK] | 2 5 8 4 3",
                "' cafe\na' | cafe a [MASK] | 2 1 6 4 3",
            })
    void areReadAsTransformersReadsThem(String lines, String text, String ids) throws IOException {
        Files.writeString(folder.resolve("vocab.txt"), lines.contains("[UNK]") ? lines : SPECIAL + lines);
        WordPiece tokenizer = (WordPiece) Tokenizers.loadEncoder(folder);
        int[] expected =
                Arrays.stream(ids.split(" ")).mapToInt(Integer::parseInt).toArray();
        assertArrayEquals(expected, tokenizer.encodeWithSpecialTokens(text));
        assertArrayEquals(
                expected, Tokenizers.ofEncoderJson(tokenizer.toTokenizerJson()).encodeWithSpecialTokens(text));
    }

    /** The two versions read these lines differently. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'cafe \na' | 'line 6: \"cafe \"; expected a token without white space at its end'",
                "'cafe\u3000\na' | 'line 6: \"cafe\u3000\"; expected a token without white space at its end'",
                "'a\nx\rcafe' | line 7: a carriage return within it; expected a token",
                "'[UNK]\n[CLS]\n[SEP]\n[MASK]\na\na' | 'vocabulary: no token \"[PAD]\", and repeated ones; expected one or the other'",
                "'a\na\n[repeated 5]' | 'vocabulary: token \"[repeated 5]\", and repeated ones; expected one or the other'",
            })
    void areRefusedWhereVersionsDiffer(String lines, String message) throws IOException {
        Path file = folder.resolve("vocab.txt");
        Files.writeString(file, lines.contains("[UNK]") ? lines : SPECIAL + lines);
        IllegalArgumentException wrong =
                assertThrows(IllegalArgumentException.class, () -> Tokenizers.loadEncoder(folder));
        assertEquals(file + ": " + message, wrong.getMessage());
    }
}
