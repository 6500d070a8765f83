package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.unicode.CharacterTable;
import io.multihead.internal.text.wordpiece.PieceTrie;
import io.multihead.internal.text.wordpiece.SpecialTokens;
import io.multihead.internal.text.wordpiece.WordPieceJson;
import io.multihead.internal.text.wordpiece.WordPieceModel;
import java.util.List;
import java.util.OptionalInt;

/**
 * The WordPiece tokenizer of BERT models (Schuster and Nakajima 2012; Devlin et al. 2019), with the results of HuggingFace's
 * {@code tokenizers}.
 *
 * <p>In this order: special tokens such as {@code [MASK]} are found in the unchanged text; the rest is normalized ({@link TextNormalization});
 * words end at white space, and each punctuation character (Unicode category P, or an ASCII symbol) is a separate word; a word becomes the
 * longest piece of the vocabulary that it begins with, then the longest piece that continues it, and so on. A word of more than 100 code points,
 * or with a part that the vocabulary lacks, becomes the unknown token. Unpaired surrogates are ignored.
 *
 * <p>Character properties come from the running JDK. Code points of a newer version of Unicode may be treated differently by a tokenizer that was
 * built with an older version.
 *
 * <p>Immutable and thread-safe. {@link #append} allocates nothing after the buffer has grown and the scripts in use were seen; {@link
 * #encode(String)} allocates its result.
 */
public final class WordPiece extends EndedTokenizer {
    private final WordPieceModel model;
    private final PieceTrie pieces;
    private final CharacterTable characters;
    private final SpecialTokens special;
    private final boolean specialInText;

    /** Creates a tokenizer of a vocabulary in the order of its ids, which has every special token. */
    WordPiece(WordPieceModel model) {
        this(model, SpecialIds.NONE);
    }

    private WordPiece(WordPieceModel model, int leftOut) {
        super(leftOut);
        this.model = model;
        pieces = PieceTrie.of(model.vocabulary(), model.added(), model.prefix());
        characters = new CharacterTable(model.normalization());
        special = new SpecialTokens(model.special());
        specialInText = true;
    }

    private WordPiece(WordPiece other, boolean specialInText) {
        super(other.leftOut);
        model = other.model;
        pieces = other.pieces;
        characters = other.characters;
        special = other.special;
        this.specialInText = specialInText;
    }

    /** Returns a tokenizer that may omit unknown tokens. */
    static WordPiece of(WordPieceModel model, boolean leavesUnknownOut) {
        return new WordPiece(model, leavesUnknownOut ? model.unknown() : SpecialIds.NONE);
    }

    /**
     * {@return a tokenizer of a {@code vocab.txt}, whose special tokens are {@code [PAD]}, {@code [UNK]}, {@code [CLS]},
     * {@code [SEP]} and {@code [MASK]}}
     *
     * @param tokens one token per id, from id 0; pieces that continue a word start with {@code ##}
     * @param normalization the normalization of the text
     * @throws IllegalArgumentException if a token repeats, or {@code [UNK]}, {@code [CLS]} or {@code [SEP]} is missing
     */
    public static WordPiece ofVocabulary(List<String> tokens, TextNormalization normalization) {
        Checks.notNull(tokens, "tokens");
        return new WordPiece(WordPieceModel.of(
                tokens, Checks.notNull(normalization, "normalization").steps()));
    }

    /**
     * Returns a {@code tokenizer.json} of this tokenizer, which {@link Tokenizers#ofEncoderJson(byte[])} reads, or, without special tokens
     * around texts, {@link Tokenizers#ofStaticJson}. HuggingFace's libraries read it, too. The file does not store whether special tokens
     * are found in texts.
     *
     * @return UTF-8
     * @throws IllegalArgumentException if a token has an unpaired surrogate
     */
    public byte[] toTokenizerJson() {
        return WordPieceJson.write(model);
    }

    @Override
    public WordPiece withSpecialTokensInText(boolean recognized) {
        return new WordPiece(this, recognized);
    }

    @Override
    public int vocabularySize() {
        return model.vocabulary().size();
    }

    @Override
    public int ownVocabularySize() {
        return model.ownSize();
    }

    @Override
    public String token(int id) {
        return model.vocabulary().get((int) Checks.index(id, vocabularySize(), "id"));
    }

    @Override
    public int firstToken() {
        return model.first();
    }

    @Override
    public int lastToken() {
        return model.last();
    }

    @Override
    public OptionalInt truncation() {
        return model.truncation();
    }

    @Override
    public int separators() {
        return model.pairs().separators();
    }

    @Override
    public int secondType() {
        return model.pairs().secondType();
    }

    @Override
    boolean continuesWord(int id) {
        return PieceTrie.continues(model.vocabulary().get(id), model.prefix())
                && !model.added().contains(id);
    }

    @Override
    void tokenize(String text, TokenBuffer to) {
        int length = text.length();
        int wordLength = 0;
        for (int at = 0; at < length; ) {
            int token = specialInText ? special.match(text, at) : -1;
            if (token >= 0) {
                wordLength = endWord(to, wordLength);
                to.add(special.id(token), at, at + special.length(token), false);
                at += special.length(token);
                continue;
            }
            int codePoint = text.codePointAt(at);
            int end = at + Character.charCount(codePoint);
            int entry = characters.entry(codePoint);
            if (CharacterTable.kind(entry) == CharacterTable.SEVERAL) {
                for (int part : characters.expansion(codePoint, entry)) {
                    wordLength = read(to, wordLength, part, at, end);
                }
            } else {
                wordLength = read(to, wordLength, entry, at, end);
            }
            at = end;
        }
        endWord(to, wordLength);
    }

    /** Reads one normalized code point and returns the length of the word so far. */
    private int read(TokenBuffer to, int wordLength, int entry, int start, int end) {
        switch (CharacterTable.kind(entry)) {
            case CharacterTable.LETTER -> {
                return addLetter(to, wordLength, entry, start, end);
            }
            case CharacterTable.REMOVED -> {
                return wordLength;
            }
            case CharacterTable.ALONE -> {
                endWord(to, wordLength);
                return endWord(to, addLetter(to, 0, entry, start, end));
            }
            default -> {
                return endWord(to, wordLength);
            }
        }
    }

    private static int addLetter(TokenBuffer to, int wordLength, int entry, int start, int end) {
        if (wordLength < WordPieceModel.LONGEST_WORD) {
            to.word[wordLength] = CharacterTable.codePoint(entry);
            to.wordStarts[wordLength] = start;
            to.wordEnds[wordLength] = end;
        } else {
            to.wordEnds[WordPieceModel.LONGEST_WORD - 1] =
                    end; // the word becomes the unknown token, for which only its range is needed
        }
        return wordLength + 1;
    }

    /** Divides the word into pieces. Returns 0, the length of the next word at its beginning. */
    private int endWord(TokenBuffer to, int wordLength) {
        if (wordLength > 0 && (wordLength > WordPieceModel.LONGEST_WORD || !divide(to, wordLength))) {
            int end = to.wordEnds[Math.min(wordLength, WordPieceModel.LONGEST_WORD) - 1];
            to.add(model.unknown(), to.wordStarts[0], end, false);
        }
        return 0;
    }

    /** Adds the pieces of a word, or returns false when the vocabulary lacks one. */
    private boolean divide(TokenBuffer to, int wordLength) {
        int before = to.size();
        for (int at = 0; at < wordLength; ) {
            int node = at == 0 ? PieceTrie.FIRST : PieceTrie.CONTINUING;
            int id = -1;
            int end = at;
            for (int i = at; i < wordLength; i++) {
                node = pieces.child(node, to.word[i]);
                if (node < 0) {
                    break;
                }
                if (pieces.id(node) >= 0 && (specialInText || !special.has(pieces.id(node)))) {
                    id = pieces.id(node);
                    end = i + 1;
                }
            }
            if (id < 0) {
                to.truncate(before);
                return false;
            }
            to.add(id, to.wordStarts[at], to.wordEnds[end - 1], at > 0);
            at = end;
        }
        return true;
    }

    @Override
    public String toString() {
        return "WordPiece of " + vocabularySize() + " tokens";
    }
}
