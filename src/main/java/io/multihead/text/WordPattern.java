package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.util.List;
import java.util.function.Supplier;

/**
 * How byte-level tokenizers divide text into words before pairs merge, by the names that GGUF gives these rules. Each is the model's regular
 * expression, read in one pass. Categories of code points are those of the running JDK.
 */
public enum WordPattern {
    /** GPT-2. */
    GPT_2(() -> new Gpt2Words(false), "gpt-2"),
    /** SmolLM and SmolLM2: as GPT-2, with each digit alone. */
    SMOLLM(() -> new Gpt2Words(true), "smollm"),
    /** Llama 3: letters with one character before them, up to three digits. */
    LLAMA_BPE(() -> new Llama3Words(3), "llama-bpe", "llama3", "llama-v3"),
    /** Qwen 2, 2.5 and 3: as Llama 3, with each digit alone. */
    QWEN_2(() -> new Llama3Words(1), "qwen2", "deepseek-r1-qwen"),
    /** DeepSeek LLM. */
    DEEPSEEK_LLM(DeepSeekWords::new, "deepseek-llm"),
    /** Mistral's Tekken: words end before upper case letters, each digit alone. */
    TEKKEN(() -> new CasedWords(false, 1), "tekken"),
    /** GPT-4o and Llama 4: as Tekken, with contractions and up to three digits. */
    GPT_4O(() -> new CasedWords(true, 3), "gpt-4o", "llama4");

    private final Supplier<WordRule> rule;
    private final List<String> names;

    WordPattern(Supplier<WordRule> rule, String... names) {
        this.rule = rule;
        this.names = List.of(names);
    }

    /**
     * Returns the pattern of a name.
     *
     * @param name the value of {@code tokenizer.ggml.pre}
     * @return the pattern
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
                "expected gpt-2, smollm, llama-bpe, qwen2, deepseek-llm, tekken or gpt-4o");
    }

    WordRule rule() {
        return rule.get();
    }
}
