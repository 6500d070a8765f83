package io.multihead.jmh.data;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Random texts of words with one token each. */
public final class Texts {
    private static final String[] WORDS = {"attention", "looks", "at", "every", "word", "of", "a", "sentence", "twice"};

    /** A text of nine tokens. */
    public static final String NINE = String.join(" ", WORDS);

    private static final int MOST = 128;

    private Texts() {}

    /**
     * Returns texts.
     *
     * @param sizes number of texts, and the tokens of each text, such as {@code 32x128}. Texts of {@code 32xragged}
     *     have {@code least} to 128 tokens.
     * @param others number of other tokens than words of the text
     */
    public static List<String> random(String sizes, int least, int others) {
        String[] parts = sizes.split("x");
        Random random = new Random(7);
        List<String> all = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(parts[0]); i++) {
            int tokens =
                    parts[1].equals("ragged") ? least + random.nextInt(MOST + 1 - least) : Integer.parseInt(parts[1]);
            StringBuilder text = new StringBuilder();
            for (int word = 0; word < tokens - others; word++) {
                text.append(WORDS[random.nextInt(WORDS.length)]).append(' ');
            }
            all.add(text.toString());
        }
        return all;
    }
}
