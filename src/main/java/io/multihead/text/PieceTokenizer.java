package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The common part of tokenizers of pieces: tokens that are found first, and the conversion back to text. */
abstract class PieceTokenizer implements Tokenizer {
    final Vocabulary vocabulary;
    /** The bytes that each token adds to a text. */
    private final byte[][] bytes;

    private final SpecialIds special;
    /** Tokens that any user's text may contain. */
    private final AddedTokens inText;
    /** Tokens that any user's text may contain, and control tokens. */
    private final AddedTokens inSpecialText;

    private final Map<String, Integer> ids;
    /** Tokens that continue the word of the previous token: text tokens that do not begin with a space. */
    private final BitSet continuing = new BitSet();

    private final AtomicReference<@Nullable EncodeBuffer> spare = new AtomicReference<>();

    PieceTokenizer(
            Vocabulary vocabulary, byte[][] bytes, SpecialIds special, AddedTokens inText, AddedTokens inSpecialText) {
        special.requireBelow(vocabulary.size());
        this.vocabulary = vocabulary;
        this.bytes = bytes;
        this.special = special;
        this.inText = inText;
        this.inSpecialText = inSpecialText.alsoIn(inText);
        ids = HashMap.newHashMap(vocabulary.size());
        for (int id = 0; id < vocabulary.size(); id++) {
            ids.put(vocabulary.token(id), id);
            TokenType type = vocabulary.type(id);
            boolean mark = type == TokenType.CONTROL || type == TokenType.USER_DEFINED;
            continuing.set(id, !mark && !(bytes[id].length > 0 && bytes[id][0] == ' '));
        }
    }

    /** Returns whether a token continues the word of the one before it. */
    final boolean continuesWord(int id) {
        return continuing.get(id);
    }

    /** Adds the ids of a part of the buffer's text that contains no added token; may change this part and the character before it. */
    abstract void encodePart(EncodeBuffer buffer, int from, int end);

    /**
     * Replaces the ids from {@code first} on by the same ids with the places from which they come. The method has no effect if ids
     * already have places.
     */
    void place(EncodeBuffer buffer, int first, int from) {}

    /** Returns whether decoding drops the space at the beginning of a text. */
    abstract boolean beginsWithSpace();

    /** Returns whether encoding puts a space between an added token and the text after it. */
    abstract boolean putsSpaceAfterAdded();

    /**
     * Returns whether the first byte of a token is the space that encoding puts after a token of any text, such as Phi-3's {@code </s>}.
     */
    final boolean hasPutSpace(int previous, int id) {
        return putsSpaceAfterAdded()
                && previous != SpecialIds.NONE
                && vocabulary.type(previous) == TokenType.USER_DEFINED
                && vocabulary.type(id) != TokenType.USER_DEFINED
                && bytes[id].length > 0
                && bytes[id][0] == ' ';
    }

    /** Appends the tokens of a text with their places, if {@link #encodePart} adds them in this form. */
    final void append(String text, boolean withSpecial, TokenBuffer to) {
        EncodeBuffer buffer = take();
        buffer.begin(text, withSpecial, to);
        encode(buffer);
        giveBack(buffer);
    }

    @Override
    public final int[] encode(String text) {
        EncodeBuffer buffer = take();
        buffer.begin(Checks.notNull(text, "text"), false, null);
        encode(buffer);
        int[] result = buffer.ids();
        giveBack(buffer);
        return result;
    }

    @Override
    public final int[] encode(PromptText prompt) {
        EncodeBuffer buffer = take();
        boolean template = Checks.notNull(prompt, "prompt").nextContent(0) == prompt.length();
        buffer.begin(prompt.toString(), template, null);
        buffer.prompt = template ? null : prompt;
        encode(buffer);
        int[] result = buffer.ids();
        giveBack(buffer);
        return result;
    }

    private EncodeBuffer take() {
        EncodeBuffer kept = spare.getAndSet(null);
        return kept == null ? new EncodeBuffer() : kept;
    }

    private void giveBack(EncodeBuffer buffer) {
        buffer.end();
        if (buffer.isKept()) {
            spare.set(buffer);
        }
    }

    private void encode(EncodeBuffer buffer) {
        AddedTokens added = buffer.special || buffer.prompt != null ? inSpecialText : inText;
        int at = EncodeBuffer.START;
        while (at < buffer.end) {
            boolean found = added.find(buffer, at);
            int end = found ? buffer.matchStart : buffer.end;
            if (end > at) {
                int before = buffer.size();
                encodePart(buffer, at, end);
                if (buffer.placesTokens()) {
                    place(buffer, before, at);
                }
            }
            if (found) {
                int start = buffer.matchStart - EncodeBuffer.START;
                add(buffer, buffer.match, start, buffer.matchEnd - EncodeBuffer.START);
            }
            at = found ? buffer.matchEnd : end;
        }
    }

    /** Adds an id with its range in the caller's text. */
    final void add(EncodeBuffer buffer, int id, int start, int end) {
        buffer.add(id, start, end, continuing.get(id));
    }

    @Override
    public final int vocabularySize() {
        return vocabulary.size();
    }

    @Override
    public final int ownVocabularySize() {
        return vocabulary.ownSize();
    }

    @Override
    public final SpecialIds specialIds() {
        return special;
    }

    @Override
    public final String token(int id) {
        return vocabulary.token(id);
    }

    @Override
    public final TokenType type(int id) {
        return vocabulary.type(id);
    }

    @Override
    public final int find(String token) {
        return ids.getOrDefault(Checks.notNull(token, "token"), SpecialIds.NONE);
    }

    /** Returns the number of bytes that a token adds to a text. */
    final int pieceLength(int id) {
        return bytes[id].length;
    }

    @Override
    public final byte[] pieceBytes(int id) {
        return ownBytes(id).clone();
    }

    /** Returns the bytes of a token. The caller must not change them. */
    final byte[] ownBytes(int id) {
        return bytes[(int) Checks.index(id, bytes.length, "id")];
    }

    @Override
    public final String decode(int... ids) {
        int length = 0;
        for (int id : Checks.notNull(ids, "ids")) {
            length = Math.addExact(length, isControl(id) ? 0 : bytes[id].length);
        }
        byte[] all = new byte[length];
        int size = 0;
        int previous = SpecialIds.NONE;
        for (int id : ids) {
            if (!isControl(id)) {
                int first = hasPutSpace(previous, id) ? 1 : 0;
                System.arraycopy(bytes[id], first, all, size, bytes[id].length - first);
                size += bytes[id].length - first;
            }
            previous = id;
        }
        int from = beginsWithSpace() && size > 0 && all[0] == ' ' ? 1 : 0;
        return new String(all, from, size - from, StandardCharsets.UTF_8);
    }

    @Override
    public String toString() {
        return getClass().getSimpleName() + " of " + vocabularySize() + " tokens";
    }
}
