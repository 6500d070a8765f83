package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.text.words.WordRule;
import io.multihead.support.CpuTime;
import io.multihead.support.Tries;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Words are compared with the regular expressions of the models' files, as {@link Pattern} reads them. */
@Execution(ExecutionMode.CONCURRENT)
class WordPatternTest {
    private static final String REST = "\\s+(?!\\S)|\\s+";
    private static final String CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
    private static final String GPT_2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" + REST;
    private static final String UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
    private static final String LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";

    private static final String LETTERS =
            "\\x{41}-\\x{5a}\\x{61}-\\x{7a}\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}"
                    + "\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}"
                    + "\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}-\\x{38a}"
                    + "\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}"
                    + "\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}"
                    + "\\x{1cbd}-\\x{1cbf}\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}"
                    + "\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}"
                    + "\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}"
                    + "\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}"
                    + "\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}"
                    + "\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}"
                    + "\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}"
                    + "\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}"
                    + "\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}"
                    + "\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}"
                    + "\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}"
                    + "\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}"
                    + "\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}";

    /**
     * The expressions of each pattern. Each expression divides the text that the expressions before it did not match.
     */
    private static final Map<WordPattern, List<String>> EXPRESSIONS = Map.of(
            WordPattern.GPT_2,
            List.of(GPT_2),
            WordPattern.SMOLLM,
            List.of("\\p{N}", GPT_2),
            WordPattern.LLAMA_BPE,
            List.of(llama(3)),
            WordPattern.SMAUG_BPE,
            List.of(llama(3)),
            WordPattern.QWEN_2,
            List.of(llama(1)),
            WordPattern.QWEN_35,
            List.of(CONTRACTIONS
                    + "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                    + REST),
            WordPattern.TEKKEN,
            List.of(cased("", 1)),
            WordPattern.GPT_4O,
            List.of(cased(CONTRACTIONS + "?", 3)),
            WordPattern.DEEPSEEK_LLM,
            List.of(
                    "[\r\n]",
                    "\\s?[" + LETTERS + "]+",
                    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
                    "\\s+$",
                    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
                    "\\p{N}+"));

    /** Builds with a reduced number of tries test one in {@code STEP} of equivalent code points. */
    private static final int STEP = Tries.factor() < 1 ? 16 : 1;

    /** Returns whether a code point is an ideograph, Hangul or for private use, like nine of ten code points. */
    private static boolean isOneOfThousands(int codePoint) {
        return Character.isIdeographic(codePoint)
                || Character.getType(codePoint) == Character.PRIVATE_USE
                || Character.UnicodeScript.of(codePoint) == Character.UnicodeScript.HANGUL;
    }

    private static String llama(int digits) {
        return CONTRACTIONS + "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1," + digits
                + "}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" + REST;
    }

    private static String cased(String contractions, int digits) {
        String prefix = "[^\\r\\n\\p{L}\\p{N}]?";
        return prefix + UPPER + "*" + LOWER + "+" + contractions + "|" + prefix + UPPER + "+" + LOWER + "*"
                + contractions + "|\\p{N}{1," + digits + "}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|" + REST;
    }

    @ParameterizedTest
    @EnumSource
    void everyCodePointIsWhatTheExpressionsSay(WordPattern pattern) {
        Comparison comparison = new Comparison(pattern);
        // in parallel, since expressions with hundreds of ranges take most of the time
        IntStream.rangeClosed(0, Character.MAX_CODE_POINT)
                .parallel()
                .filter(codePoint -> Character.getType(codePoint) != Character.SURROGATE
                        && Character.getType(codePoint) != Character.UNASSIGNED)
                .filter(codePoint -> !isOneOfThousands(codePoint) || codePoint % STEP == 0)
                .mapToObj(Character::toString)
                .forEach(c -> comparison.check("a" + c + "A " + c + c + "1'" + c + " \u3000" + c));
    }

    @ParameterizedTest
    @EnumSource
    void randomTextIsDividedAsByTheExpressions(WordPattern pattern) {
        Comparison comparison = new Comparison(pattern);
        String[] parts = {
            " ",
            " ",
            "  ",
            "\n",
            "\r\n",
            "\t",
            "\u00a0",
            "\u3000",
            "\u2003",
            "\u0085",
            "a",
            "b",
            "A",
            "Bc",
            "\u00e9",
            "\u01c5",
            "\u4e2d",
            "\u02b0",
            "\u0301",
            "\u0627",
            "'s",
            "'LL",
            "'\u017f",
            "'",
            "1",
            "23",
            "\u0663",
            "\u2160",
            "\u00bd",
            "!",
            "/",
            "...",
            "\u3002",
            "\ud83d\ude42",
            "\ud835\udc00",
            "\u20ac",
            "\u200d",
            "\uac00",
            "\u10d0",
            "\u1c90"
        };
        Random random = new Random(pattern.ordinal());
        for (int run = 0; run < 20_000; run++) {
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(12); i > 0; i--) {
                text.append(parts[random.nextInt(parts.length)]);
            }
            comparison.check(text.toString());
        }
    }

    /** The words of a text by a rule and by expressions. */
    private record Comparison(WordRule rule, List<Pattern> expressions) {
        Comparison(WordPattern pattern) {
            this(
                    pattern.rule(),
                    EXPRESSIONS.get(pattern).stream()
                            .map(e -> Pattern.compile(
                                    e, Pattern.UNICODE_CHARACTER_CLASS | Pattern.UNICODE_CASE | Pattern.UNIX_LINES))
                            .toList());
        }

        void check(String text) {
            List<String> expected = List.of(text);
            for (Pattern expression : expressions) {
                List<String> parts = new ArrayList<>();
                for (String part : expected) {
                    split(expression, part, parts);
                }
                expected = parts;
            }
            List<String> actual = new ArrayList<>();
            char[] chars = text.toCharArray();
            for (int at = 0; at < chars.length; ) {
                int end = rule.wordEnd(chars, at, chars.length);
                actual.add(text.substring(at, end));
                at = end;
            }
            assertEquals(expected, actual);
        }

        private static void split(Pattern expression, String text, List<String> parts) {
            Matcher matcher = expression.matcher(text);
            int at = 0;
            while (matcher.find()) {
                if (matcher.start() > at) {
                    parts.add(text.substring(at, matcher.start()));
                }
                parts.add(matcher.group());
                at = matcher.end();
            }
            if (at < text.length()) {
                parts.add(text.substring(at));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void timeIsLinear(WordPattern pattern) throws Exception {
        WordRule rule = pattern.rule();
        for (String part : List.of(
                "a",
                "A",
                " ",
                "\n",
                " \n",
                "!",
                "\u4e2d",
                "\u4e2dA",
                "\u0301",
                "\u3000",
                "\u3000a",
                "\u2003!",
                "!\u3002",
                "\u2003 ",
                "\u4e2d\u2003 ",
                "1",
                "'")) {
            char[] text = part.repeat(1_000_000 / part.length()).toCharArray();
            CpuTime.within(60, () -> {
                int at = 0;
                while (at < text.length) {
                    at = rule.wordEnd(text, at, text.length);
                }
                return at;
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"default", "", "GPT-2"})
    void anUnknownNameIsAnError(String name) {
        String message = assertThrows(IllegalArgumentException.class, () -> WordPattern.of(name))
                .getMessage();
        assertTrue(message.startsWith("tokenizer.ggml.pre: \"" + name + "\"; expected one of gpt-2, phi-2, "), message);
    }

    @Test
    void namesOfFilesArePatterns() {
        Map<WordPattern, List<String>> names = Map.of(
                WordPattern.GPT_2,
                List.of("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "mellum"),
                WordPattern.SMOLLM,
                List.of("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"),
                WordPattern.LLAMA_BPE,
                List.of("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
                WordPattern.SMAUG_BPE,
                List.of("smaug-bpe", "dbrx", "glm4", "chatglm-bpe"),
                WordPattern.QWEN_35,
                List.of("qwen35"),
                WordPattern.QWEN_2,
                List.of("qwen2", "deepseek-r1-qwen", "megrez", "stablelm2", "hunyuan", "solar-open", "kormo", "grok-2"),
                WordPattern.DEEPSEEK_LLM,
                List.of("deepseek-llm"),
                WordPattern.TEKKEN,
                List.of("tekken"),
                WordPattern.GPT_4O,
                List.of("gpt-4o", "llama4", "kanana2", "minimax-m2"));
        assertEquals(names.keySet(), Set.of(WordPattern.values()));
        names.forEach((pattern, all) -> all.forEach(name -> assertEquals(pattern, WordPattern.of(name), name)));
    }
}
