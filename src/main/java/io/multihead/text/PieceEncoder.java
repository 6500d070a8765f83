package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.text.wordpiece.PairJson;
import io.multihead.internal.text.wordpiece.PairTemplate;
import io.multihead.internal.text.wordpiece.WordPieceJson;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** A tokenizer of pieces as an encoder's tokenizer: with the tokens that its file puts around a text, or without any. */
final class PieceEncoder extends EndedTokenizer {
    private final PieceTokenizer tokenizer;
    private final PairTemplate pairs;
    private final OptionalInt truncation;
    private final boolean specialInText;
    private final int first;
    private final int last;

    /** Creates a tokenizer that finds special tokens in texts. */
    PieceEncoder(PieceTokenizer tokenizer, PairTemplate pairs, OptionalInt truncation) {
        super(SpecialIds.NONE);
        this.tokenizer = tokenizer;
        this.pairs = pairs;
        this.truncation = truncation;
        specialInText = true;
        first = tokenizer.specialIds().begin();
        last = tokenizer.specialIds().end();
    }

    private PieceEncoder(PieceEncoder other, int leftOut, boolean specialInText, int first, int last) {
        super(leftOut);
        tokenizer = other.tokenizer;
        pairs = other.pairs;
        truncation = other.truncation;
        this.specialInText = specialInText;
        this.first = first;
        this.last = last;
    }

    /** Returns the tokenizer that a {@code tokenizer.json} describes, optionally with a {@code tokenizer_config.json}. */
    static PieceEncoder of(PieceTokenizer tokenizer, JsonObject file, @Nullable JsonObject config) {
        SpecialIds special = tokenizer.specialIds();
        if (special.added() != SpecialIds.AddedSpecialTokens.BOTH) {
            throw Checks.fail(
                    "tokens around a text", String.valueOf(special.added()), "expected one before it and one after it");
        }
        PairTemplate pairs = PairJson.of(file, special.begin(), special.end());
        return new PieceEncoder(tokenizer, pairs.with(config), WordPieceJson.truncation(file));
    }

    /**
     * Returns the tokenizer that a {@code tokenizer.json} describes, without the tokens that it may put around a text, and without tokens
     * of an id, which may be {@link SpecialIds#NONE}.
     */
    static PieceEncoder withoutEnds(PieceTokenizer tokenizer, JsonObject file, int leftOut) {
        PieceEncoder ended = new PieceEncoder(tokenizer, PairTemplate.OTHER, WordPieceJson.truncation(file));
        return new PieceEncoder(ended, leftOut, true, SpecialIds.NONE, SpecialIds.NONE);
    }

    @Override
    public EncoderTokenizer withSpecialTokensInText(boolean recognized) {
        return new PieceEncoder(this, leftOut, recognized, first, last);
    }

    @Override
    public int vocabularySize() {
        return tokenizer.vocabularySize();
    }

    @Override
    public int ownVocabularySize() {
        return tokenizer.ownVocabularySize();
    }

    @Override
    public String token(int id) {
        return tokenizer.token(id);
    }

    @Override
    public int firstToken() {
        return first;
    }

    @Override
    public int lastToken() {
        return last;
    }

    @Override
    public OptionalInt truncation() {
        return truncation;
    }

    @Override
    public int separators() {
        return pairs.separators();
    }

    @Override
    public int secondType() {
        return pairs.secondType();
    }

    @Override
    void tokenize(String text, TokenBuffer to) {
        tokenizer.append(text, specialInText, to);
    }

    @Override
    boolean continuesWord(int id) {
        return tokenizer.continuesWord(id);
    }

    @Override
    public String toString() {
        return "encoder's " + tokenizer;
    }
}
