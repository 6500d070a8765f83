package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.multihead.internal.text.pairs.ByteAlphabet;
import io.multihead.support.CpuTime;
import io.multihead.support.WarmCalls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Byte-level byte-pair encoding returns the ids of llama.cpp and of a plain implementation, and decodes ids to the
 * text.
 */
@Execution(ExecutionMode.CONCURRENT)
class BytePairTokenizerTest {
    @ParameterizedTest
    @ValueSource(strings = {"gpt-2", "deepseek-llm"})
    void idsAreThoseOfLlamaCpp(String name) {
        Tokenizer tokenizer = SharedModels.tokenizer("vocab/ggml-vocab-" + name + ".gguf");
        List<SharedModels.Example> examples = SharedModels.examples(name);
        assertTrue(examples.size() > 40);
        for (SharedModels.Example example : examples) {
            assertArrayEquals(example.ids(), tokenizer.encode(example.text()), example.text());
            assertEquals(example.text(), tokenizer.decode(example.ids()));
        }
    }

    /** {@code .ci/tokenizers} downloads these files. */
    @ParameterizedTest
    @CsvSource({"llama-bpe,llama3", "qwen2,qwen3"})
    void idsOfTokenizerJsonAreThoseOfLlamaCpp(String name, String model) throws IOException {
        Path folder = Path.of("src", "it", "tokenizers", "target", "models", model);
        assumeTrue(Files.exists(folder), () -> folder + " is not there: run .ci/tokenizers");
        Tokenizer tokenizer = Tokenizers.load(folder);
        for (SharedModels.Example example : SharedModels.examples(name)) {
            assertArrayEquals(example.ids(), tokenizer.encode(example.text()), example.text());
            assertEquals(example.text(), tokenizer.decode(example.ids()));
        }
    }

    /**
     * The test uses the letters a to c, random merges, and words that are longer than the limit of the search without a
     * heap.
     */
    @Test
    void idsAreThoseOfAPlainLoop() {
        Random random = new Random(42);
        for (int run = 0; run < 3000; run++) {
            List<String> tokens = bytes();
            List<String> parts = new ArrayList<>(List.of("a", "b", "c"));
            List<String> merges = new ArrayList<>();
            for (int i = random.nextInt(12); i > 0; i--) {
                String left = parts.get(random.nextInt(parts.size()));
                String right = parts.get(random.nextInt(parts.size()));
                merges.add(left + " " + right);
                if (!tokens.contains(left + right)) {
                    tokens.add(left + right);
                    parts.add(left + right);
                }
            }
            boolean wholeWords = run % 2 == 0;
            Tokenizer tokenizer = BytePairTokenizer.of(
                    Vocabulary.of(tokens, List.of()), merges, WordPattern.GPT_2, wholeWords, SpecialIds.ABSENT);
            String word = random.ints(random.nextInt(random.nextInt(10) == 0 ? 200 : 12), 'a', 'd')
                    .mapToObj(Character::toString)
                    .collect(Collectors.joining());
            int[] expected = wholeWords && tokens.contains(word)
                    ? new int[] {tokens.indexOf(word)}
                    : plain(tokens, merges, word);
            assertArrayEquals(expected, tokenizer.encode(word), word + " " + merges);
        }
    }

    /**
     * Returns ids by the definition. Each step merges the first pair in the word among the pairs with the lowest rank.
     */
    private static int[] plain(List<String> tokens, List<String> merges, String word) {
        List<String> symbols =
                new ArrayList<>(word.chars().mapToObj(Character::toString).toList());
        while (true) {
            int best = -1;
            int bestRank = Integer.MAX_VALUE;
            for (int i = 0; i + 1 < symbols.size(); i++) {
                int rank = merges.indexOf(symbols.get(i) + " " + symbols.get(i + 1));
                if (rank >= 0 && rank < bestRank) {
                    best = i;
                    bestRank = rank;
                }
            }
            if (best < 0) {
                return symbols.stream().mapToInt(tokens::indexOf).toArray();
            }
            symbols.set(best, symbols.get(best) + symbols.remove(best + 1));
        }
    }

    /** A byte without a token divides a word and is omitted, as in llama.cpp. */
    @Test
    void aByteWithoutATokenIsLeftOut() {
        List<String> tokens = bytes();
        tokens.set(2, "--");
        Tokenizer tokenizer = BytePairTokenizer.of(
                Vocabulary.of(tokens, List.of()), List.of("- -"), WordPattern.GPT_2, false, SpecialIds.ABSENT);
        assertArrayEquals(new int[] {'-', 2, '-'}, tokenizer.encode("-\u0002--\u0002-"));
        assertEquals("a--b", tokenizer.decode(tokenizer.encode("a-\u0002-b\u0002")));
        String word = "-\u0002".repeat(100);
        assertEquals("-".repeat(100), tokenizer.decode(tokenizer.encode(word)));
    }

    @Test
    void timeGrowsHardlyMoreThanTheLength() throws Exception {
        List<String> tokens = bytes();
        List<String> merges = new ArrayList<>();
        for (String letter : List.of("a", "\u0120")) {
            for (int length = 1; length < 64; length *= 2) {
                merges.add(letter.repeat(length) + " " + letter.repeat(length));
                tokens.add(letter.repeat(2 * length));
            }
        }
        Tokenizer tokenizer = BytePairTokenizer.of(
                Vocabulary.of(tokens, List.of()), merges, WordPattern.LLAMA_BPE, true, SpecialIds.ABSENT);
        for (String part : List.of("a", " ", "\ud83d\ude42", "ab", "\u4e2d")) {
            String text = part.repeat(1_000_000 / part.length());
            int[] ids = CpuTime.within(60, () -> tokenizer.encode(text));
            assertEquals(text, tokenizer.decode(ids));
        }
    }

    @Test
    void anyTextComesBack() {
        Tokenizer tokenizer = small();
        Random random = new Random(3);
        for (int run = 0; run < 5000; run++) {
            String text = random.ints(random.nextInt(20), 0, random.nextBoolean() ? 0x80 : 0x20000)
                    .filter(c -> c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE)
                    .mapToObj(Character::toString)
                    .collect(Collectors.joining());
            assertEquals(text, tokenizer.decode(tokenizer.encode(text)));
        }
        assertEquals("a\ufffdb", tokenizer.decode(tokenizer.encode("a\ud800b")));
    }

    @Test
    void manyThreadsSeeTheSameIds() {
        Tokenizer tokenizer = small();
        List<String> texts = IntStream.range(0, 2000)
                .mapToObj(i -> "word" + i * i + " and \u00e9" + i % 50 + " <think>")
                .toList();
        List<int[]> alone = texts.stream().map(small()::encode).toList();
        List<int[]> together = texts.parallelStream().map(tokenizer::encode).toList();
        for (int i = 0; i < texts.size(); i++) {
            assertArrayEquals(alone.get(i), together.get(i), texts.get(i));
        }
    }

    @Test
    void aWarmCallAllocatesItsResultAlone() {
        Tokenizer tokenizer = small();
        String text = "The same words, again and again: don't 12 of them. ".repeat(20);
        long array = 16 + 4L * tokenizer.encode(text).length + 7 & -8;
        assertEquals(array, WarmCalls.allocatedBytes(array, () -> tokenizer.encode(text)), "an array of ids");
    }

    @Test
    void marksAreTokensOfSpecialTextAlone() {
        Tokenizer tokenizer = small();
        int mark = tokenizer.find("<|im_end|>");
        int think = tokenizer.find("<think>");
        int lines = tokenizer.find("\n\n");
        assertArrayEquals(
                new int[] {lines, 'a', mark, think}, tokenizer.encode(PromptText.template("\n\na<|im_end|><think>")));
        assertEquals("a<|im_end|><think>".length() + 1, tokenizer.encode("\n\na<|im_end|><think>").length);
        assertEquals("<think>a", tokenizer.decode(mark, think, 'a'));
    }

    /**
     * Returns a tokenizer with a token for each byte and tokens of each kind. Ids of bytes below 128 are their values.
     */
    private static Tokenizer small() {
        List<String> tokens = bytes();
        List<TokenType> types = new ArrayList<>(Collections.nCopies(256, TokenType.NORMAL));
        tokens.addAll(List.of("<|im_end|>", "<think>", "\n\n"));
        types.addAll(List.of(TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.USER_DEFINED));
        return BytePairTokenizer.of(
                Vocabulary.of(tokens, types), List.of(), WordPattern.QWEN_2, false, SpecialIds.ABSENT);
    }

    private static List<String> bytes() {
        List<String> tokens = new ArrayList<>();
        for (int value = 0; value < 256; value++) {
            tokens.add(String.valueOf(ByteAlphabet.character(value)));
        }
        return tokens;
    }

    @Test
    void vocabulariesThatAreNoneAreRefused() {
        List<String> tokens = bytes();
        assertMessage("merge: \"ab\"; expected two tokens with a space between", tokens, "ab");
        assertMessage("merges[0]: \"ab\"; expected tokens of the vocabulary", tokens, "a b");
        tokens.set(65, "a b");
        assertMessage("token \"a b\": U+20; expected characters of bytes", tokens, "a b");
    }

    private static void assertMessage(String message, List<String> tokens, String merge) {
        Vocabulary vocabulary = Vocabulary.of(tokens, List.of());
        assertEquals(
                message,
                assertThrows(
                                IllegalArgumentException.class,
                                () -> BytePairTokenizer.of(
                                        vocabulary, List.of(merge), WordPattern.GPT_2, false, SpecialIds.ABSENT))
                        .getMessage());
    }
}
