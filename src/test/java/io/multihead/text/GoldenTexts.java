package io.multihead.text;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;

/**
 * The texts of the golden tokens, for the oracle that writes the tokens and for the test that compares them. The class
 * depends only on the JDK.
 */
public final class GoldenTexts {
    /** The number of random strings. */
    public static final int RANDOM = 100_000;

    public static final int RANDOM_BLOCK = 1_000;

    /** The number of code points per checksum. */
    public static final int CODE_POINT_BLOCK = 256;

    private static final int[] LENGTHS = {
        0, 1, 2, 3, 5, 8, 13, 14, 15, 16, 21, 30, 34, 50, 55, 64, 89, 100, 110, 144, 200, 233, 300, 377, 400, 450, 500,
        600
    };

    /** The first and last code points of the ranges of random strings. All ranges have the same probability. */
    private static final int[][] RANGES = {
        {' ', '~'},
        {'a', 'z'},
        {'a', 'z'},
        {0x00, 0x24f},
        {0x250, 0x52f},
        {0x300, 0x36f},
        {0x590, 0x6ff},
        {0x900, 0x97f},
        {0xe00, 0xe7f},
        {0x1100, 0x11ff},
        {0x1e00, 0x1fff},
        {0x2000, 0x20cf},
        {0x2100, 0x2bff},
        {0x3000, 0x30ff},
        {0x4e00, 0x4f00},
        {0xac00, 0xad00},
        {0xd7f0, 0xf8ff},
        {0xf900, 0xffff},
        {0x1d160, 0x1d180},
        {0x1f300, 0x1f6ff},
        {0x2b7f0, 0x2b940},
        {0x10000, 0x10ffff},
    };

    private static final List<String> WORDS = List.of(
            "[CLS]",
            "[SEP]",
            "[MASK]",
            "[UNK]",
            "[PAD]",
            "[cls]",
            " [ MASK ]",
            "the",
            "un",
            "##ing",
            "tokens",
            "Stra\u00dfe",
            "e\u0301",
            "\u0130",
            "\u03a3\u03a3",
            "\ud83d\udc69\u200d\ud83d\udcbb");

    private final BitSet pinned = new BitSet();

    /** Reads the list of code points on which the oracle's Unicode and the JDK's differ. */
    public GoldenTexts() {
        try (InputStream list = GoldenTexts.class.getResourceAsStream("/golden/text/wordpiece_pinned.txt")) {
            String text = new String(list.readAllBytes(), StandardCharsets.US_ASCII);
            for (String range : text.replaceAll("#.*\n", "").trim().split("\\s+")) {
                String[] ends = range.split("-");
                pinned.set(Integer.parseInt(ends[0], 16), Integer.parseInt(ends[ends.length - 1], 16) + 1);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the omitted code points. */
    public BitSet pinned() {
        return pinned;
    }

    /** Returns whether a code point is compared, which requires that UTF-8 can encode it and that it is not pinned. */
    public boolean isCompared(int codePoint) {
        return !pinned.get(codePoint) && (codePoint < Character.MIN_SURROGATE || codePoint > Character.MAX_SURROGATE);
    }

    /** Returns the text in which a code point is compared. */
    public static String around(int codePoint) {
        return "a" + Character.toString(codePoint) + "b";
    }

    /**
     * Returns whether offsets are compared. They are not compared if NFD reorders marks, because the reference's
     * offsets then belong to earlier characters. Ids are always compared.
     */
    public static boolean hasComparableOffsets(String text) {
        StringBuilder kept = new StringBuilder();
        StringBuilder parts = new StringBuilder();
        text.codePoints()
                .filter(c -> !isRemovedFirst(c))
                .mapToObj(Character::toString)
                .forEach(c -> {
                    kept.append(c);
                    parts.append(Normalizer.normalize(c, Normalizer.Form.NFD));
                });
        return parts.toString().equals(Normalizer.normalize(kept, Normalizer.Form.NFD));
    }

    /** Returns whether cleaning removes a character before marks combine. */
    private static boolean isRemovedFirst(int codePoint) {
        int type = Character.getType(codePoint);
        return codePoint == 0xfffd
                || type == Character.CONTROL
                || type == Character.FORMAT
                || type == Character.PRIVATE_USE;
    }

    /** Returns a block of random strings, which are the same in every run. */
    public List<String> random(int block) {
        Random random = new Random(block);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < RANDOM_BLOCK; i++) {
            StringBuilder text = new StringBuilder();
            int[] range = RANGES[random.nextInt(RANGES.length)];
            for (int parts = random.nextInt(40); parts > 0; parts--) {
                switch (random.nextInt(8)) {
                    case 0 -> range = RANGES[random.nextInt(RANGES.length)];
                    case 1 -> text.append(' ');
                    case 2 -> text.append(WORDS.get(random.nextInt(WORDS.size())));
                    case 3 -> text.appendCodePoint('a' + random.nextInt(26));
                    default -> {
                        int codePoint = range[0] + random.nextInt(range[1] - range[0] + 1);
                        text.append(isCompared(codePoint) ? Character.toString(codePoint) : "x");
                    }
                }
            }
            // occasionally a word of about the maximum length of a word that is divided
            text.append(random.nextInt(50) == 0 ? "ab".repeat(48 + random.nextInt(5)) : "");
            texts.add(text.toString());
        }
        return texts;
    }

    /**
     * Returns texts of 0 to 600 words of a paragraph. Each text begins at another word. They have from 2 to more than
     * 512 tokens.
     */
    public static List<String> sentences(String paragraph) {
        String[] words = paragraph.trim().split("\\s+");
        List<String> texts = new ArrayList<>();
        for (int length : LENGTHS) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < length; i++) {
                text.append(i == 0 ? "" : " ").append(words[(7 * length + i) % words.length]);
            }
            texts.add(text.toString());
        }
        return texts;
    }

    /** Adds a text's ids, starts and ends to a checksum. */
    public static void update(CRC32 sum, String text, int[][] tokens) {
        update(sum, tokens[0]);
        if (hasComparableOffsets(text)) {
            update(sum, tokens[1]);
            update(sum, tokens[2]);
        }
    }

    private static void update(CRC32 sum, int[] numbers) {
        for (int number : numbers) {
            sum.update(number);
            sum.update(number >>> 8);
            sum.update(number >>> 16);
        }
        sum.update(0xff);
    }
}
