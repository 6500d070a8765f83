package io.multihead.it.llamacpp;

import io.multihead.format.Gguf;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Compares the token ids of llama.cpp and of this library for the same file. */
final class TokenizerChecks {
    private static final int TEXTS = 3000;
    private static final List<String> PARTS = List.of(
            "the",
            " ",
            "  ",
            "tea",
            "t",
            "h",
            "e",
            "an",
            "\u00e9",
            "e\u0301",
            "\ud83d\ude42",
            "\n",
            "\t",
            ".",
            ",",
            "<s>",
            "\u2581",
            "Once upon a time",
            "little",
            "Lily",
            "1",
            "23",
            "\u4e2d",
            "\ufffd",
            "A",
            "Z");

    private TokenizerChecks() {}

    static void run(String name, Gguf file, LlamaCpp model) {
        Tokenizer tokenizer = Tokenizers.of(file);
        SplittableRandom random = new SplittableRandom(9);
        for (int i = 0; i < TEXTS; i++) {
            StringBuilder text = new StringBuilder();
            for (int parts = random.nextInt(8); parts > 0; parts--) {
                text.append(PARTS.get(random.nextInt(PARTS.size())));
            }
            int[] theirs = model.tokenize(text.toString(), false, false);
            int[] ours = tokenizer.encode(text.toString());
            ModelChecks.require(
                    Arrays.equals(theirs, ours),
                    "\"" + text + "\": " + Arrays.toString(ours) + "; llama.cpp has " + Arrays.toString(theirs));
        }
        System.out.println(name + ": " + TEXTS + " texts with llama.cpp's token ids");
    }
}
