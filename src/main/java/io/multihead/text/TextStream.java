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
    /** Bytes of a code point but one: the most that a token can leave over. */
    private static final int LONGEST_REST = 3;

    private final Tokenizer tokenizer;
    private final CharsetDecoder decoder = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    private final ByteBuffer rest = ByteBuffer.allocate(LONGEST_REST);
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
        byte[] piece = tokenizer.pieceBytes(id);
        ByteBuffer bytes = ByteBuffer.allocate(rest.position() + piece.length);
        bytes.put(rest.flip()).put(piece, from, piece.length - from).flip();
        CharBuffer text = CharBuffer.allocate(bytes.remaining());
        decoder.reset().decode(bytes, text, false);
        rest.clear().put(bytes);
        return text.flip().toString();
    }

    /**
     * Ends the text. Then another text may begin.
     *
     * @return U+FFFD if the last code point is incomplete, else an empty string
     */
    public String end() {
        CharBuffer text = CharBuffer.allocate(LONGEST_REST);
        decoder.reset().decode(rest.flip(), text, true);
        rest.clear();
        previous = SpecialIds.NONE;
        return text.flip().toString();
    }
}
