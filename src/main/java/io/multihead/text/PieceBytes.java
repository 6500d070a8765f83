package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/** The bytes that the tokens of SentencePiece represent. */
final class PieceBytes {
    private static final char SPACE = '\u2581';

    private PieceBytes() {}

    /** Returns the bytes that each token of a vocabulary adds to a text. */
    static byte[][] of(Vocabulary vocabulary) {
        byte[][] bytes = new byte[vocabulary.size()][];
        for (int id = 0; id < bytes.length; id++) {
            String token = vocabulary.token(id);
            bytes[id] = switch (vocabulary.type(id)) {
                case BYTE -> new byte[] {(byte) byteOf(token)};
                case CONTROL, UNKNOWN -> token.getBytes(StandardCharsets.UTF_8);
                default -> token.replace(SPACE, ' ').getBytes(StandardCharsets.UTF_8);
            };
        }
        return bytes;
    }

    /** Returns the ids of the byte tokens, or -1 for missing ones. */
    static int[] ids(Vocabulary vocabulary) {
        int[] ids = new int[256];
        Arrays.fill(ids, -1);
        for (int id = 0; id < vocabulary.size(); id++) {
            if (vocabulary.type(id) == TokenType.BYTE) {
                ids[byteOf(vocabulary.token(id))] = id;
            }
        }
        return ids;
    }

    /** Returns whether a token is written as a byte token. */
    static boolean isByte(String token) {
        return token.length() == 6
                && token.startsWith("<0x")
                && HexFormat.isHexDigit(token.charAt(3))
                && HexFormat.isHexDigit(token.charAt(4))
                && token.endsWith(">");
    }

    private static int byteOf(String token) {
        if (!isByte(token)) {
            throw Checks.fail("byte token", "\"" + token + "\"", "expected <0x00> to <0xFF>");
        }
        return Integer.parseInt(token, 3, 5, 16);
    }
}
