package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.pairs.ByteAlphabet;
import io.multihead.internal.text.pairs.Merge;
import io.multihead.internal.text.pairs.MergeTable;
import io.multihead.internal.text.pairs.Merger;
import io.multihead.internal.text.unicode.ComposedText;
import io.multihead.internal.text.unicode.Utf8;
import io.multihead.internal.text.words.WordRule;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019), the tokenizer of GPT-2, Llama 3, Qwen, SmolLM, DeepSeek and
 * Mistral's Tekken, with the ids of llama.cpp and of HuggingFace's {@code tokenizers}.
 *
 * <p>Text is divided into words ({@link WordPattern}); the UTF-8 bytes of a word merge in pairs, in the order of the list of merges.
 * Bytes without a token, which occur in SmolLM2, StarCoder and others, are omitted.
 *
 * <p>Immutable and thread-safe.
 */
public final class BytePairTokenizer extends WordTokenizer {
    /** Characters below this one are the same in every normal form. */
    private static final int FIRST_THAT_COMPOSES = 0x300;

    private final WordRule words;
    private final MergeTable merges;
    /** By byte: the token of the byte, or -1 if no token has the byte. */
    private final int[] byteSymbols = new int[256];
    /** The smallest byte of UTF-8 that no token has, or -1. */
    private final int firstMissing;

    private final MissingBytes missing;
    /** Ids of tokens that are whole words, if such words need no merges; otherwise empty. */
    private final Map<String, Integer> wholeWords;

    private final int longestWord;
    private final boolean composes;

    /** The treatment of bytes that no token has. */
    enum MissingBytes {
        /** They are omitted after the bytes around them have merged, as in llama.cpp: no merge crosses them. */
        AFTER_MERGES,
        /** They are omitted before the first merge, as in the crate if there is no unknown token. */
        BEFORE_MERGES,
        /** Each becomes the unknown token before the first merge, as in the crate. */
        UNKNOWN,
        /** Each run of such bytes becomes one unknown token, as in the crate with {@code fuse_unk}. */
        ONE_UNKNOWN
    }

    /** The rules of a tokenizer, in addition to its vocabulary and merges. */
    record Rules(WordPattern words, boolean wholeWords, boolean composes, MissingBytes missing) {}

    BytePairTokenizer(
            Vocabulary vocabulary,
            List<Merge> merges,
            Rules rules,
            SpecialIds special,
            AddedTokens inText,
            AddedTokens inSpecialText) {
        super(vocabulary, bytes(vocabulary), special, inText, inSpecialText);
        Map<String, Integer> ids = HashMap.newHashMap(vocabulary.size());
        int longest = 0;
        for (int id = 0; id < vocabulary.size(); id++) {
            if (isPiece(vocabulary, id)) {
                ids.put(vocabulary.token(id), id);
                longest = Math.max(longest, vocabulary.token(id).length());
            }
        }
        int least = -1;
        for (int value = byteSymbols.length - 1; value >= 0; value--) {
            byteSymbols[value] = ids.getOrDefault(String.valueOf(ByteAlphabet.character(value)), -1);
            boolean occurs = value < 0xc0 || value > 0xc1 && value < 0xf5;
            least = occurs && byteSymbols[value] < 0 ? value : least;
        }
        firstMissing = least;
        missing = rules.missing;
        this.merges = Merge.table(merges, ids);
        words = rules.words.rule();
        wholeWords = rules.wholeWords ? ids : Map.of();
        longestWord = longest;
        composes = rules.composes;
    }

    /**
     * {@return a tokenizer of a vocabulary and its merges}
     *
     * @param vocabulary tokens with types; normal tokens are written with GPT-2's characters for bytes
     * @param merges pairs of tokens with a space between them, in the order in which they merge
     * @param words the rule that divides text into words
     * @param wholeWords whether a word that is a token becomes this token without merges ({@code ignore_merges}), as in Llama 3
     * @param special the ids of special tokens
     * @throws IllegalArgumentException if a token of a merge is not in the vocabulary
     */
    public static BytePairTokenizer of(
            Vocabulary vocabulary, List<String> merges, WordPattern words, boolean wholeWords, SpecialIds special) {
        Checks.notNull(vocabulary, "vocabulary");
        List<Merge> pairs =
                Checks.noNulls(merges, "merges").stream().map(Merge::of).toList();
        return new BytePairTokenizer(
                vocabulary,
                pairs,
                new Rules(Checks.notNull(words, "words"), wholeWords, false, MissingBytes.AFTER_MERGES),
                Checks.notNull(special, "special"),
                AddedTokens.inText(vocabulary),
                AddedTokens.inSpecialText(vocabulary));
    }

    /** Returns whether a token may be the result of merges. Unused filler tokens of a vocabulary may have characters that no byte has. */
    private static boolean isPiece(Vocabulary vocabulary, int id) {
        return switch (vocabulary.type(id)) {
            case NORMAL -> true;
            case UNUSED -> ByteAlphabet.isEncoded(vocabulary.token(id));
            default -> false;
        };
    }

    private static byte[][] bytes(Vocabulary vocabulary) {
        byte[][] bytes = new byte[vocabulary.size()][];
        for (int id = 0; id < bytes.length; id++) {
            String token = vocabulary.token(id);
            bytes[id] = isPiece(vocabulary, id) ? ByteAlphabet.decode(token) : token.getBytes(StandardCharsets.UTF_8);
        }
        return bytes;
    }

    /** Returns this tokenizer, or fails if it drops bytes of texts: the places of its tokens are then unknown. */
    BytePairTokenizer requireAllBytes() {
        if (firstMissing >= 0) {
            throw Checks.fail("vocabulary", "no token for byte " + firstMissing, "expected one for each byte of UTF-8");
        }
        return this;
    }

    @Override
    boolean beginsWithSpace() {
        return false;
    }

    @Override
    boolean putsSpaceAfterAdded() {
        return false;
    }

    /**
     * Adds ids with their places. A token has as many bytes as the part of the text from which it comes. If a code point is in several
     * tokens, each of these tokens comes from the whole code point.
     */
    @Override
    void place(EncodeBuffer buffer, int first, int from) {
        ComposedText composed = buffer.composed;
        char[] text = composed == null ? buffer.text : composed.text;
        int end = composed == null ? buffer.end : text.length;
        int at = composed == null ? from : 0;
        int inside = 0;
        for (int i = first; i < buffer.size(); i++) {
            int start = at;
            int codePoint = 0;
            for (int rest = pieceLength(buffer.id(i)); rest > 0; ) {
                codePoint = Character.codePointAt(text, at, end);
                int taken = Math.min(rest, Utf8.length(codePoint) - inside);
                rest -= taken;
                inside += taken;
                if (inside == Utf8.length(codePoint)) {
                    at += Character.charCount(codePoint);
                    inside = 0;
                }
            }
            int stop = inside > 0 ? at + Character.charCount(codePoint) : at;
            if (composed != null && stop > start) {
                stop = composed.end(stop - 1);
                start = composed.start(start);
            }
            add(buffer, buffer.id(i), start - EncodeBuffer.START, stop - EncodeBuffer.START);
        }
        buffer.truncate(first);
    }

    @Override
    void encodePart(EncodeBuffer buffer, int from, int end) {
        buffer.composed = composed(buffer.text, from, end);
        if (buffer.composed == null) {
            encodeWords(buffer, from, end);
            return;
        }
        char[] text = buffer.text;
        buffer.text = buffer.composed.text;
        encodeWords(buffer, 0, buffer.composed.text.length);
        buffer.text = text;
    }

    /** Returns the composed form of a part of a text, or null if the part is already composed. */
    private @Nullable ComposedText composed(char[] text, int from, int end) {
        boolean isComposed = !composes
                || !mayCompose(text, from, end)
                || Normalizer.isNormalized(new String(text, from, end - from), Normalizer.Form.NFC);
        return isComposed ? null : ComposedText.of(text, from, end);
    }

    private static boolean mayCompose(char[] text, int from, int end) {
        for (int i = from; i < end; i++) {
            if (text[i] >= FIRST_THAT_COMPOSES) {
                return true;
            }
        }
        return false;
    }

    private void encodeWords(EncodeBuffer buffer, int from, int end) {
        for (int at = from; at < end; ) {
            int wordEnd = words.wordEnd(buffer.text, at, end);
            encodeWord(buffer, at, wordEnd);
            at = wordEnd;
        }
    }

    @Override
    void divide(EncodeBuffer buffer, int from, int end) {
        if (!wholeWords.isEmpty() && end - from <= longestWord) {
            Integer id = wholeWords.get(ByteAlphabet.encode(new String(buffer.text, from, end - from)));
            if (id != null) {
                buffer.add(id);
                return;
            }
        }
        int bytes = byteSymbols(buffer, from, end);
        if (firstMissing >= 0 && missing != MissingBytes.AFTER_MERGES) {
            bytes = withoutMissing(buffer.merger.symbols, bytes);
        }
        int count = buffer.merger.merge(merges, bytes);
        for (int i = 0; i < count; i++) {
            if (buffer.merger.symbols[i] >= 0) {
                buffer.add(buffer.merger.symbols[i]);
            }
        }
    }

    /** Removes the symbols of bytes without a token, or replaces them with the unknown token, and returns the number of symbols. */
    private int withoutMissing(int[] symbols, int count) {
        int size = 0;
        boolean afterMissing = false;
        for (int i = 0; i < count; i++) {
            boolean absent = symbols[i] < 0;
            if (!absent) {
                symbols[size++] = symbols[i];
            } else if (missing == MissingBytes.UNKNOWN || missing == MissingBytes.ONE_UNKNOWN && !afterMissing) {
                symbols[size++] = specialIds().unknown();
            }
            afterMissing = absent;
        }
        return size;
    }

    /** Writes the symbols of a word's bytes and returns their number. */
    private int byteSymbols(EncodeBuffer buffer, int from, int end) {
        Merger merger = buffer.merger;
        int count = 0;
        for (int i = from; i < end; i++) {
            merger.reserve(count + 4);
            int[] symbols = merger.symbols;
            int c = buffer.text[i];
            if (c < 0x80) {
                symbols[count++] = byteSymbols[c];
            } else if (c < 0x800) {
                symbols[count++] = byteSymbols[0xc0 | c >> 6];
                symbols[count++] = byteSymbols[0x80 | c & 0x3f];
            } else {
                int codePoint = Character.codePointAt(buffer.text, i, end);
                if (codePoint > 0xffff) {
                    i++;
                    symbols[count++] = byteSymbols[0xf0 | codePoint >> 18];
                    symbols[count++] = byteSymbols[0x80 | codePoint >> 12 & 0x3f];
                } else {
                    codePoint = Character.isSurrogate((char) c) ? 0xfffd : c;
                    symbols[count++] = byteSymbols[0xe0 | codePoint >> 12];
                }
                symbols[count++] = byteSymbols[0x80 | codePoint >> 6 & 0x3f];
                symbols[count++] = byteSymbols[0x80 | codePoint & 0x3f];
            }
        }
        return count;
    }
}
