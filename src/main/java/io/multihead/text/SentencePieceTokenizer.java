package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.pairs.Merge;
import io.multihead.internal.text.pairs.Merger;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Byte-pair encoding with the scores of SentencePiece (Kudo and Richardson 2018), the tokenizer of Llama 1 and 2, Mistral 7B, TinyLlama and
 * Gemma, with the ids of llama.cpp and of SentencePiece.
 *
 * <p>Spaces become U+2581. Code points merge in pairs while a pair is a token: the pair with the highest score first, and among equal scores the
 * leftmost. A code point without a token becomes the tokens of its bytes. If the vocabulary has no byte tokens, each run of such code points
 * becomes one unknown token. Control tokens, the unknown token and byte tokens are never merged from characters. U+2581 in a text is a space.
 *
 * <p>Immutable and thread-safe.
 */
public final class SentencePieceTokenizer extends WordTokenizer {
    /** The places where a space is put before text. */
    public enum SpacePrefix {
        /** Nowhere. */
        NONE,
        /** Before the text, if no added token begins it. */
        FIRST,
        /** Before the text, and after each added token. */
        ALWAYS,
        /** As {@link #FIRST}, unless the text begins with a space. */
        FIRST_WITHOUT,
        /** As {@link #ALWAYS}, unless the text begins with a space. */
        ALWAYS_WITHOUT
    }

    private static final int[] NONE = {};
    /** Tokens of a file may have any length, but no text has longer runs of line feeds. */
    private static final int LONGEST_RUN = 1 << 16;

    private static final char SPACE = '\u2581';

    private final SpacePrefix prefix;
    private final ScoredPieces pieces;
    /**
     * By length: the token of that number of line feeds, or no id if there is none; empty if runs of line feeds are divided like other
     * text.
     */
    private final int[] lineFeeds;
    /** The id of the token of each byte; empty if the vocabulary has no byte tokens. */
    private final int[] byteIds;

    /** Creates a tokenizer whose pieces merge in the order of a list, or in the order of their scores if there is no list. */
    SentencePieceTokenizer(
            Vocabulary vocabulary,
            @Nullable List<Merge> merges,
            SpecialIds special,
            SpacePrefix prefix,
            AddedTokens inText,
            AddedTokens inSpecial,
            boolean keepsLineFeeds) {
        super(vocabulary, PieceBytes.of(vocabulary), special, inText, inSpecial);
        this.prefix = prefix;
        lineFeeds = keepsLineFeeds ? lineFeeds(vocabulary) : NONE;
        pieces = new ScoredPieces(vocabulary, merges);
        byteIds = byteIds(vocabulary);
        if (byteIds.length == 0 && special.unknown() == SpecialIds.NONE) {
            throw Checks.fail("vocabulary", "neither byte tokens nor an unknown token", "expected one of both");
        }
    }

    /**
     * {@return a tokenizer of a vocabulary with scores}
     *
     * @param vocabulary tokens with types and scores
     * @param special the ids of special tokens
     * @param prefix the places where a space is put before text
     * @throws IllegalArgumentException if the vocabulary has no scores, only some of the byte tokens, or neither byte tokens nor an
     *     unknown token
     */
    public static SentencePieceTokenizer of(Vocabulary vocabulary, SpecialIds special, SpacePrefix prefix) {
        Checks.notNull(special, "special");
        Checks.notNull(prefix, "prefix");
        if (!Checks.notNull(vocabulary, "vocabulary").hasScores()) {
            throw Checks.fail("vocabulary", "no scores", "expected one per token");
        }
        return new SentencePieceTokenizer(
                vocabulary,
                null,
                special,
                prefix,
                AddedTokens.inText(vocabulary),
                AddedTokens.inSpecialText(vocabulary),
                false);
    }

    /** Returns the tokens that consist of line feeds, by their number of line feeds. */
    private static int[] lineFeeds(Vocabulary vocabulary) {
        int[] ids = {SpecialIds.NONE};
        for (int id = 0; id < vocabulary.size(); id++) {
            String token = vocabulary.token(id);
            boolean isRun = !token.isEmpty() && token.chars().allMatch(c -> c == '\n');
            if (isRun && token.length() <= LONGEST_RUN) {
                int had = ids.length;
                ids = Arrays.copyOf(ids, Math.max(had, token.length() + 1));
                Arrays.fill(ids, had, Math.max(had, ids.length), SpecialIds.NONE);
                ids[token.length()] = id;
            }
        }
        return ids;
    }

    @Override
    boolean beginsWithSpace() {
        return prefix != SpacePrefix.NONE;
    }

    @Override
    boolean putsSpaceAfterAdded() {
        return prefix == SpacePrefix.ALWAYS || prefix == SpacePrefix.ALWAYS_WITHOUT;
    }

    @Override
    void encodePart(EncodeBuffer buffer, int from, int end) {
        char[] text = buffer.text;
        for (int i = from; i < end; i++) {
            text[i] = text[i] == ' ' ? SPACE : text[i];
        }
        int start = from;
        if (isPrefixed(text, from)) {
            text[--start] = SPACE;
        }
        for (int i = start; lineFeeds.length > 0 && i < end; i++) {
            if (text[i] == '\n') {
                int rest = i;
                while (rest < end && text[rest] == '\n') {
                    rest++;
                }
                encodeLine(buffer, start, i);
                encodeLineFeeds(buffer, i, rest);
                start = rest;
                i = rest - 1;
            }
        }
        encodeLine(buffer, start, end);
    }

    /** Encodes a run of line feeds: as one token if the vocabulary has it, regardless of merges. */
    private void encodeLineFeeds(EncodeBuffer buffer, int from, int end) {
        int id = end - from < lineFeeds.length ? lineFeeds[end - from] : SpecialIds.NONE;
        if (id == SpecialIds.NONE) {
            encodeWord(buffer, from, end);
        } else {
            buffer.add(id);
        }
    }

    private void encodeLine(EncodeBuffer buffer, int from, int end) {
        char[] text = buffer.text;
        int start = from;
        if (from == end) {
            return;
        }
        for (int i = start + 1; i < end; i++) {
            // no merge crosses this place, so the text before and after it can be divided separately
            if (text[i] == SPACE && text[i - 1] != SPACE && !pieces.mayPrecedeSpace(text[i - 1])) {
                encodeWord(buffer, start, i);
                start = i;
            }
        }
        encodeWord(buffer, start, end);
    }

    private boolean isPrefixed(char[] text, int from) {
        boolean first = from == EncodeBuffer.START;
        return switch (prefix) {
            case NONE -> false;
            case FIRST -> first;
            case ALWAYS -> true;
            case FIRST_WITHOUT -> first && text[from] != SPACE;
            case ALWAYS_WITHOUT -> text[from] != SPACE;
        };
    }

    @Override
    void divide(EncodeBuffer buffer, int from, int end) {
        Merger merger = buffer.merger;
        merger.reserve(end - from);
        int count = 0;
        for (int i = from; i < end; ) {
            int codePoint = Character.codePointAt(buffer.text, i, end);
            merger.symbols[count++] = pieces.symbol(codePoint);
            i += Character.charCount(codePoint);
        }
        count = merger.merge(pieces.merges(), count);
        for (int i = 0; i < count; i++) {
            int symbol = merger.symbols[i];
            if (pieces.isToken(symbol)) {
                buffer.add(symbol);
            } else {
                addBytes(buffer, pieces.codePoint(symbol));
            }
        }
    }

    private void addBytes(EncodeBuffer buffer, int codePoint) {
        if (byteIds.length == 0) {
            if (buffer.last() != specialIds().unknown()) {
                buffer.add(specialIds().unknown());
            }
        } else if (codePoint < 0x80) {
            buffer.add(byteIds[codePoint]);
        } else if (codePoint < 0x800) {
            buffer.add(byteIds[0xc0 | codePoint >> 6]);
            addRest(buffer, codePoint, 1);
        } else if (codePoint < 0x10000) {
            buffer.add(byteIds[0xe0 | codePoint >> 12]);
            addRest(buffer, codePoint, 2);
        } else {
            buffer.add(byteIds[0xf0 | codePoint >> 18]);
            addRest(buffer, codePoint, 3);
        }
    }

    private void addRest(EncodeBuffer buffer, int codePoint, int bytes) {
        for (int shift = 6 * (bytes - 1); shift >= 0; shift -= 6) {
            buffer.add(byteIds[0x80 | codePoint >> shift & 0x3f]);
        }
    }

    private static int[] byteIds(Vocabulary vocabulary) {
        int[] ids = PieceBytes.ids(vocabulary);
        int missing = 0;
        int first = 0;
        for (int b = ids.length - 1; b >= 0; b--) {
            missing += ids[b] < 0 ? 1 : 0;
            first = ids[b] < 0 ? b : first;
        }
        if (missing > 0 && missing < ids.length) {
            throw Checks.fail(
                    "vocabulary",
                    (ids.length - missing) + " byte tokens without that of " + first,
                    "expected all 256 or none");
        }
        return missing == 0 ? ids : new int[0];
    }
}
