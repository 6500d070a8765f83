package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * The text of ids that arrive one by one. A code point whose bytes are in several tokens is returned with the last of these tokens, so no returned
 * text ends within a code point. Bytes that are not UTF-8 become U+FFFD. Control tokens and the unknown token add nothing.
 *
 * <p>The parts concatenated are the result of {@link Tokenizer#decode} for the same ids, with one difference: a leading space is kept, because the
 * ids may continue a text. Not thread-safe.
 */
public final class TextStream {
    /** Bytes that are enough for most tokens. */
    private static final int FIRST_BYTES = 64;

    private final Tokenizer tokenizer;
    private final CharsetDecoder decoder = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    /**
     * The bytes of an incomplete code point, to which the bytes of the next token are added. This buffer and the buffer of characters are reused.
     */
    private ByteBuffer bytes = ByteBuffer.allocate(FIRST_BYTES);

    private CharBuffer characters = CharBuffer.allocate(FIRST_BYTES);
    private int previous = SpecialIds.NONE;

    /**
     * Begins a text.
     *
     * @param tokenizer the tokenizer of the ids
     */
    public TextStream(Tokenizer tokenizer) {
        this.tokenizer = Checks.notNull(tokenizer, "tokenizer");
    }

    /**
     * Adds a token.
     *
     * @param id from 0 to {@code vocabularySize() - 1}
     * @return the text that this id completes; often empty
     */
    public String append(int id) {
        boolean control = tokenizer.isControl(id);
        int from = tokenizer instanceof PieceTokenizer pieces && pieces.hasPutSpace(previous, id) ? 1 : 0;
        previous = id;
        if (control) {
            return "";
        }
        byte[] piece = tokenizer instanceof PieceTokenizer pieces ? pieces.ownBytes(id) : tokenizer.pieceBytes(id);
        if (piece.length > bytes.remaining()) {
            int longer = 2 * (bytes.position() + piece.length);
            bytes = ByteBuffer.allocate(longer).put(bytes.flip());
            characters = CharBuffer.allocate(longer);
        }
        bytes.put(piece, from, piece.length - from);
        return decode(false);
    }

    private String decode(boolean isEnd) {
        decoder.reset().decode(bytes.flip(), characters.clear(), isEnd);
        bytes.compact();
        return characters.flip().isEmpty() ? "" : characters.toString();
    }

    /**
     * Ends the text. Then another text may begin.
     *
     * @return U+FFFD if the last code point is incomplete, else an empty string
     */
    public String end() {
        previous = SpecialIds.NONE;
        return decode(true);
    }
}
