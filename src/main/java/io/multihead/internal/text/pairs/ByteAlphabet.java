package io.multihead.internal.text.pairs;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The characters that represent bytes in byte-level vocabularies (Radford et al. 2019): printable bytes are the same characters, and the
 * other bytes are characters from U+0100 on.
 */
public final class ByteAlphabet {
    private static final char[] CHARACTERS = characters();
    private static final short[] BYTES = bytes();

    private ByteAlphabet() {}

    public static char character(int value) {
        return CHARACTERS[value];
    }

    /** Returns the bytes of a token, or fails with an error that names the token. */
    public static byte[] decode(String token) {
        byte[] bytes = new byte[token.length()];
        for (int i = 0; i < bytes.length; i++) {
            char c = token.charAt(i);
            if (c >= BYTES.length || BYTES[c] < 0) {
                throw Checks.fail(
                        "token \"" + token + "\"", "U+" + Integer.toHexString(c), "expected characters of bytes");
            }
            bytes[i] = (byte) BYTES[c];
        }
        return bytes;
    }

    /** Returns whether all characters of a token represent bytes. */
    public static boolean isEncoded(String token) {
        return token.chars().allMatch(c -> c < BYTES.length && BYTES[c] >= 0);
    }

    /** Returns the form in which a token for this text is written. */
    public static String encode(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        StringBuilder token = new StringBuilder(utf8.length);
        for (byte value : utf8) {
            token.append(CHARACTERS[value & 0xff]);
        }
        return token.toString();
    }

    private static char[] characters() {
        char[] characters = new char[256];
        char next = 0x100;
        for (int value = 0; value < 256; value++) {
            boolean printable =
                    value >= '!' && value <= '~' || value >= 0xa1 && value <= 0xac || value >= 0xae && value <= 0xff;
            characters[value] = printable ? (char) value : next++;
        }
        return characters;
    }

    private static short[] bytes() {
        short[] bytes = new short[0x144];
        Arrays.fill(bytes, (short) -1);
        for (int value = 0; value < 256; value++) {
            bytes[CHARACTERS[value]] = (short) value;
        }
        return bytes;
    }
}
