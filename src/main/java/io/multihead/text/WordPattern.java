package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.words.CasedWords;
import io.multihead.internal.text.words.DeepSeekWords;
import io.multihead.internal.text.words.Gpt2Words;
import io.multihead.internal.text.words.Llama3Words;
import io.multihead.internal.text.words.WordRule;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The rules by which byte-level tokenizers divide text into words before pairs merge, with the names that GGUF gives these rules. In
 * llama.cpp, one rule may have many names. Each rule implements the model's regular expression in one pass. Categories of code points
 * come from the running JDK.
 */
public enum WordPattern {
    /** GPT-2. */
    GPT_2(
            () -> new Gpt2Words(false),
            "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "exaone4",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "modern-bert",
            "roberta-bpe",
            "jina-v1-en",
            "jina-v2-code",
            "jina-es",
            "jina-de",
            "jina-v2-es",
            "jina-v2-de"),
    /** SmolLM and SmolLM2: like GPT-2, with each digit as a word. */
    SMOLLM(
            () -> new Gpt2Words(true),
            "",
            "smollm",
            "starcoder",
            "refact",
            "command-r",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2"),
    /** Llama 3: letters with one character before them, up to three digits. */
    LLAMA_BPE(
            () -> new Llama3Words(3),
            llama("\\p{N}{1,3}"),
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano"),
    /** The rule of {@link #LLAMA_BPE}, for a vocabulary in which merges make every word, and no token is put before a text. */
    SMAUG_BPE(() -> new Llama3Words(3), "", "smaug-bpe", "dbrx", "glm4", "chatglm-bpe"),
    /** Qwen 2, 2.5 and 3: like Llama 3, with each digit as a word. */
    QWEN_2(
            () -> new Llama3Words(1),
            llama("\\p{N}"),
            "qwen2",
            "deepseek-r1-qwen",
            "kormo",
            "f2llmv2",
            "megrez",
            "stablelm2",
            "hunyuan",
            "solar-open",
            "grok-2"),
    /** Qwen 3.5: like Qwen 2, with marks as letters. */
    QWEN_35(
            () -> new Llama3Words(1, true),
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*"
                    + "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
            "qwen35"),
    /** DeepSeek LLM. */
    DEEPSEEK_LLM(DeepSeekWords::new, "", "deepseek-llm"),
    /** Mistral's Tekken: words end before upper case letters, and each digit is a word. */
    TEKKEN(() -> new CasedWords(false, 1), cased("", "\\p{N}"), "tekken"),
    /** GPT-4o and Llama 4: like Tekken, with contractions and up to three digits. */
    GPT_4O(
            () -> new CasedWords(true, 3),
            cased("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "\\p{N}{1,3}"),
            "gpt-4o",
            "llama4",
            "kanana2",
            "talkie",
            "minimax-m2");

    private final Supplier<WordRule> rule;
    private final String expression;
    private final List<String> names;

    WordPattern(Supplier<WordRule> rule, String expression, String... names) {
        this.rule = rule;
        this.expression = expression;
        this.names = List.of(names);
    }

    private static String llama(String numbers) {
        return "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" + numbers
                + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    }

    private static String cased(String contraction, String numbers) {
        String prefix = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
        String lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
        return prefix + "*" + lower + "+" + contraction + "|" + prefix + "+" + lower + "*" + contraction + "|" + numbers
                + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    }

    /** Returns the pattern of a regular expression in {@code tokenizer.json}, if there is one. */
    static Optional<WordPattern> ofExpression(String expression) {
        return Arrays.stream(values())
                .filter(pattern -> !pattern.expression.isEmpty() && pattern.expression.equals(expression))
                .findFirst();
    }

    /**
     * {@return the pattern of a name}
     *
     * @param name the value of {@code tokenizer.ggml.pre}
     * @throws IllegalArgumentException if no pattern has this name
     */
    public static WordPattern of(String name) {
        Checks.notNull(name, "name");
        for (WordPattern pattern : values()) {
            if (pattern.names.contains(name)) {
                return pattern;
            }
        }
        throw Checks.fail(
                "tokenizer.ggml.pre",
                "\"" + name + "\"",
                "expected one of "
                        + Arrays.stream(values())
                                .flatMap(pattern -> pattern.names.stream())
                                .collect(Collectors.joining(", ")));
    }

    WordRule rule() {
        return rule.get();
    }
}
