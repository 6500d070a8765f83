package io.multihead.grammar;

import io.multihead.text.PromptText;
import io.multihead.text.SpecialIds;
import io.multihead.text.TokenType;
import io.multihead.text.Tokenizer;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * A vocabulary of all bytes and of pieces, some of which are JSON. Token 0 ends a text, and token 1 is a control token.
 */
final class PlainVocabulary implements Tokenizer {
    static final int END = 0;
    static final int CONTROL = 1;
    private static final int FIRST_BYTE = 2;

    private final List<byte[]> pieces = new ArrayList<>();

    /** Creates a vocabulary of at least {@code size} tokens. */
    PlainVocabulary(int size) {
        this(size, "<|im_start|>");
    }

    /** Creates a vocabulary with another control token. */
    PlainVocabulary(int size, String control) {
        Random random = new Random(size);
        Set<String> known = new HashSet<>();
        pieces.add(new byte[0]);
        pieces.add(control.getBytes(StandardCharsets.US_ASCII));
        for (int value = 0; value < 256; value++) {
            pieces.add(new byte[] {(byte) value});
        }
        String alphabet = "abcdefghijklmnop  0123456789\"\"{}[]:,,\\/nut.-+eE\né\u4e2d\ud83d\ude00";
        int[] characters = alphabet.codePoints().toArray();
        while (pieces.size() < size) {
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(5) + 2; i > 0; i--) {
                text.appendCodePoint(characters[random.nextInt(characters.length)]);
            }
            if (known.add(text.toString())) {
                byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
                // some pieces begin or end within a character
                int from = random.nextInt(8) == 0 ? 1 : 0;
                int to = bytes.length - (random.nextInt(8) == 0 ? 1 : 0);
                pieces.add(Arrays.copyOfRange(bytes, from, Math.max(from + 1, to)));
            }
        }
    }

    @Override
    public int vocabularySize() {
        return pieces.size();
    }

    @Override
    public int ownVocabularySize() {
        return pieces.size();
    }

    @Override
    public SpecialIds specialIds() {
        return new SpecialIds(
                SpecialIds.NONE,
                END,
                SpecialIds.NONE,
                SpecialIds.NONE,
                Set.of(END),
                SpecialIds.AddedSpecialTokens.NEITHER);
    }

    @Override
    public String token(int id) {
        return new String(pieces.get(id), StandardCharsets.UTF_8);
    }

    @Override
    public TokenType type(int id) {
        return id < FIRST_BYTE ? TokenType.CONTROL : TokenType.NORMAL;
    }

    @Override
    public int find(String token) {
        return token.equals(token(CONTROL)) ? CONTROL : -1;
    }

    /**
     * Returns the tokens of a text. At each position, the token is the longest piece that fits, and the first of
     * several such pieces.
     */
    @Override
    public int[] encode(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        List<Integer> ids = new ArrayList<>();
        for (int at = 0; at < bytes.length; ) {
            int best = FIRST_BYTE + (bytes[at] & 0xff);
            for (int id = FIRST_BYTE + 256; id < Math.min(pieces.size(), 3000); id++) {
                byte[] piece = pieces.get(id);
                int end = at + piece.length;
                boolean fits = end <= bytes.length && Arrays.equals(bytes, at, end, piece, 0, piece.length);
                best = fits && piece.length > pieces.get(best).length ? id : best;
            }
            ids.add(best);
            at += pieces.get(best).length;
        }
        return ids.stream().mapToInt(id -> id).toArray();
    }

    @Override
    public int[] encode(PromptText text) {
        throw new UnsupportedOperationException(text.toString());
    }

    @Override
    public byte[] pieceBytes(int id) {
        return pieces.get(id).clone();
    }

    @Override
    public String decode(int... ids) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int id : ids) {
            if (id >= FIRST_BYTE) {
                bytes.writeBytes(pieces.get(id));
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
