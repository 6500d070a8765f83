package io.multihead.demo;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.BreakIterator;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The text of the study: a paragraph. Some exhibits use only its first sentence, since every token is a row and a
 * column of their pictures.
 *
 * @param paragraph at most {@link #MOST_TOKENS} words and punctuation marks
 * @param sentence its first sentence, at most {@link #MOST_IN_SENTENCE} words and punctuation marks
 */
record StudyText(String paragraph, String sentence) {
    /**
     * The maximum number of tokens, after which a text is truncated. An encoder reads 512 word pieces, and the study
     * keeps all weights of all heads.
     */
    static final int MOST_TOKENS = 240;
    /** The maximum number of readable labels on an axis. */
    static final int MOST_IN_SENTENCE = 40;

    private static final int MOST_CHARACTERS = 1 << 20;
    /** The maximum number of characters of a token on an axis or in a list. */
    private static final int MOST_IN_LABEL = 16;

    /** Returns the built-in paragraph of the study. */
    static StudyText builtIn() throws IOException {
        return of(Resources.text("/paragraph.txt"));
    }

    /**
     * Returns the beginning of a text in any language.
     *
     * @throws IllegalArgumentException if the text has no word and no punctuation mark
     */
    static StudyText of(String text) {
        String paragraph = beginning(text, MOST_TOKENS);
        if (paragraph.isEmpty()) {
            throw new IllegalArgumentException(
                    text.length() + " characters without a word; expected at least one word");
        }
        BreakIterator sentences = BreakIterator.getSentenceInstance(Locale.ENGLISH);
        sentences.setText(paragraph);
        int end = sentences.next();
        return new StudyText(paragraph, beginning(paragraph.substring(0, end), MOST_IN_SENTENCE));
    }

    /**
     * Reads the beginning of a UTF-8 file, at most a million characters.
     *
     * @throws IOException if it cannot be read or is not UTF-8
     */
    static String read(Path file) throws IOException {
        if (!Files.exists(file) || Files.isDirectory(file)) {
            throw new IOException(file + ": no such file; expected a text file");
        }
        char[] characters = new char[MOST_CHARACTERS];
        int length = 0;
        try (BufferedReader reader = Files.newBufferedReader(file)) {
            for (int read = 0; read >= 0 && length < characters.length; length += Math.max(0, read)) {
                read = reader.read(characters, length, characters.length - length);
            }
        } catch (MalformedInputException malformed) {
            throw new IOException(file + ": not UTF-8; expected a text file", malformed);
        }
        return new String(characters, 0, length);
    }

    /** Returns the words and punctuation marks according to the JDK. */
    static List<String> tokens(String text) {
        List<String> tokens = new ArrayList<>();
        for (int[] range : ranges(text, Integer.MAX_VALUE)) {
            tokens.add(text.substring(range[0], range[1]).strip());
        }
        return tokens;
    }

    private static String beginning(String text, int most) {
        List<int[]> ranges = ranges(text, most);
        return ranges.isEmpty()
                ? ""
                : text.substring(ranges.getFirst()[0], ranges.getLast()[1]).strip();
    }

    /** Returns the begin and the end of each visible token. */
    private static List<int[]> ranges(String text, int most) {
        BreakIterator words = BreakIterator.getWordInstance(Locale.ENGLISH);
        words.setText(text);
        List<int[]> ranges = new ArrayList<>();
        int from = words.first();
        for (int to = words.next(); to != BreakIterator.DONE && ranges.size() < most; from = to, to = words.next()) {
            if (text.substring(from, to).codePoints().anyMatch(StudyText::isVisible)) {
                ranges.add(new int[] {from, to});
            }
        }
        return ranges;
    }

    /**
     * Returns the label of a token on an axis. It has a maximum length, and only visible characters that are allowed in
     * XML.
     */
    static String label(String token) {
        StringBuilder label = new StringBuilder();
        int[] visible = token.codePoints()
                .filter(StudyText::isVisible)
                .limit(MOST_IN_LABEL + 1L)
                .toArray();
        for (int i = 0; i < Math.min(visible.length, MOST_IN_LABEL); i++) {
            label.appendCodePoint(visible[i]);
        }
        return visible.length > MOST_IN_LABEL ? label.append('…').toString() : label.toString();
    }

    private static boolean isVisible(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.UNASSIGNED,
                    Character.SPACE_SEPARATOR,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            default -> true;
        };
    }
}
