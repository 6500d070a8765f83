package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.unigram.UnigramBuffer;
import io.multihead.internal.text.unigram.UnigramNormalizer;
import io.multihead.internal.text.unigram.UnigramPieces;

/**
 * The Unigram model of SentencePiece (Kudo 2018; Kudo and Richardson 2018), the tokenizer of XLM-R, multilingual E5, BGE-M3, ALBERT and T5, with
 * the ids of HuggingFace's {@code tokenizers} for a {@code tokenizer.json} and of SentencePiece for its own files.
 *
 * <p>Text is normalized by the file's map of characters, spaces become U+2581, and each word becomes the pieces whose scores have the largest
 * sum. Each run of code points without a piece becomes one unknown token, or the tokens of its bytes if the file has this setting. {@link
 * #encode(String)} never makes control tokens, the unknown token or byte tokens from their names in the text. For a {@link PromptText} without
 * content, {@link #encode(PromptText)} finds all tokens that HuggingFace's library finds.
 *
 * <p>The time is linear in the length of the text. Immutable and thread-safe. {@link #encode(String)} allocates its result.
 */
public final class UnigramTokenizer extends PieceTokenizer {
    /** The places where normalized text is divided before pieces are looked up. */
    enum Division {
        /** At white space, which is removed, and before U+2581. */
        WORDS,
        /** Before U+2581. */
        MARKS,
        /** Nowhere. */
        NOWHERE
    }

    /** The places where U+2581 is put before text that does not begin with it. */
    enum Prefix {
        /** Before each part that the division or an added token leaves. */
        ALWAYS,
        /** Before the text, if no added token begins it. */
        FIRST,
        /** Nowhere, or the normalizer has already put it there. */
        NEVER
    }

    /**
     * The combination of a file's parts.
     *
     * @param normalizer the normalizer of text between added tokens
     * @param normalized added tokens that any normalized text may have
     * @param normalizedSpecial the same tokens, and control tokens
     * @param division the division of normalized text
     * @param prefix the places of U+2581 before the parts
     * @param byteFallback whether unknown code points become bytes
     */
    record Rules(
            UnigramNormalizer normalizer,
            NormalizedTokens normalized,
            NormalizedTokens normalizedSpecial,
            Division division,
            Prefix prefix,
            boolean byteFallback) {}

    private final Rules rules;
    private final UnigramPieces pieces;
    /** By byte: the token's id, or -1. */
    private final int[] byteIds;

    UnigramTokenizer(
            UnigramPieces pieces,
            Vocabulary vocabulary,
            Rules rules,
            SpecialIds special,
            AddedTokens inText,
            AddedTokens inSpecialText) {
        super(vocabulary, PieceBytes.of(vocabulary), special, inText, inSpecialText);
        this.pieces = pieces;
        this.rules = rules;
        byteIds = rules.byteFallback ? PieceBytes.ids(vocabulary) : new int[0];
        if (special.unknown() == SpecialIds.NONE) {
            throw Checks.fail("vocabulary", "no unknown token", "expected one");
        }
    }

    @Override
    boolean beginsWithSpace() {
        return true;
    }

    @Override
    boolean putsSpaceAfterAdded() {
        return rules.prefix == Prefix.ALWAYS;
    }

    @Override
    void encodePart(EncodeBuffer buffer, int from, int end) {
        UnigramBuffer part = buffer.unigram;
        part.read(buffer.text, from, end);
        rules.normalizer.normalize(part, from - EncodeBuffer.START);
        NormalizedTokens added = buffer.special ? rules.normalizedSpecial : rules.normalized;
        int at = UnigramBuffer.START;
        boolean first = from == EncodeBuffer.START;
        while (at < part.end) {
            boolean found = added.find(part, at);
            int stop = found ? part.matchStart : part.end;
            encodeWords(buffer, at, stop, first && at == UnigramBuffer.START);
            if (found) {
                int start = part.origins[part.matchStart];
                add(buffer, part.match, start, part.originEnd(part.matchEnd));
            }
            at = found ? part.matchEnd : stop;
        }
    }

    private void encodeWords(EncodeBuffer buffer, int from, int end, boolean first) {
        if (rules.division != Division.WORDS) {
            encodeMarked(buffer, from, end, first);
            return;
        }
        UnigramBuffer part = buffer.unigram;
        for (int at = from; at < end; ) {
            int space = part.spaceLength(at);
            if (space > 0) {
                at += space;
                continue;
            }
            int start = at;
            while (at < end && part.spaceLength(at) == 0) {
                at += part.length(at);
            }
            encodeMarked(buffer, start, at, first);
        }
    }

    /** Encodes a part whose spaces become marks. The byte before it has already been read. */
    private void encodeMarked(EncodeBuffer buffer, int from, int end, boolean first) {
        if (from == end) {
            return;
        }
        UnigramBuffer part = buffer.unigram;
        byte[] text = part.text;
        for (int i = from; i < end; i++) {
            text[i] = text[i] == ' ' ? UnigramBuffer.MARK : text[i];
        }
        int start = from;
        boolean prefixed = rules.prefix == Prefix.ALWAYS || rules.prefix == Prefix.FIRST && first;
        if (prefixed && text[from] != UnigramBuffer.MARK) {
            start = from - 1;
            text[start] = UnigramBuffer.MARK;
            part.origins[start] = part.origins[from];
        }
        for (int i = start + 1; i < end && rules.division != Division.NOWHERE; i++) {
            if (text[i] == UnigramBuffer.MARK) {
                encodePieces(buffer, start, i);
                start = i;
            }
        }
        encodePieces(buffer, start, end);
    }

    /** Adds the pieces of a word, and one unknown token for each run of unknown code points. */
    private void encodePieces(EncodeBuffer buffer, int from, int end) {
        UnigramBuffer part = buffer.unigram;
        pieces.divide(part, from, end, buffer.special);
        int unknown = specialIds().unknown();
        int length = end - from;
        for (int at = 0; at < length; ) {
            int next = part.starts[at];
            int id = part.ids[next];
            while (id == unknown && next < length && part.ids[part.starts[next]] == unknown) {
                next = part.starts[next];
            }
            if (id == unknown && rules.byteFallback && hasBytes(part, from + at, from + next)) {
                addBytes(buffer, from + at, from + next);
            } else {
                add(buffer, id, part.origins[from + at], part.originEnd(from + next));
            }
            at = next;
        }
    }

    private boolean hasBytes(UnigramBuffer part, int from, int end) {
        for (int at = from; at < end; at++) {
            boolean known = part.text[at] == UnigramBuffer.MARK ? hasMark() : byteIds[part.text[at] & 0xff] >= 0;
            if (!known) {
                return false;
            }
        }
        return true;
    }

    private boolean hasMark() {
        return byteIds[0xe2] >= 0 && byteIds[0x96] >= 0 && byteIds[0x81] >= 0;
    }

    private void addBytes(EncodeBuffer buffer, int from, int end) {
        UnigramBuffer part = buffer.unigram;
        int start = part.origins[from];
        int stop = part.originEnd(end);
        for (int at = from; at < end; at++) {
            if (part.text[at] == UnigramBuffer.MARK) {
                add(buffer, byteIds[0xe2], start, stop);
                add(buffer, byteIds[0x96], start, stop);
                add(buffer, byteIds[0x81], start, stop);
            } else {
                add(buffer, byteIds[part.text[at] & 0xff], start, stop);
            }
        }
    }
}
