package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import org.jspecify.annotations.Nullable;

/** A tokenizer of pieces as that of an encoder: between the tokens that its file puts around a text. */
final class PieceEncoder extends EndedTokenizer {
    private final PieceTokenizer tokenizer;
    private final PairTemplate pairs;
    private final boolean specialInText;

    PieceEncoder(PieceTokenizer tokenizer, PairTemplate pairs, boolean specialInText) {
        this.tokenizer = tokenizer;
        this.pairs = pairs;
        this.specialInText = specialInText;
    }

    /** Returns the tokenizer that a {@code tokenizer.json} describes, and perhaps a {@code tokenizer_config.json}. */
    static PieceEncoder of(PieceTokenizer tokenizer, JsonObject file, @Nullable JsonObject config) {
        SpecialIds special = tokenizer.specialIds();
        if (special.added() != SpecialIds.AddedEnds.BOTH) {
            throw Checks.fail(
                    "tokens around a text", String.valueOf(special.added()), "expected one before it and one after it");
        }
        PairTemplate pairs = PairJson.of(file, special.begin(), special.end());
        return new PieceEncoder(tokenizer, pairs.with(config), true);
    }

    @Override
    public EncoderTokenizer withSpecialTokensInText(boolean recognised) {
        return new PieceEncoder(tokenizer, pairs, recognised);
    }

    @Override
    public int vocabularySize() {
        return tokenizer.vocabularySize();
    }

    @Override
    public int ownVocabularySize() {
        return tokenizer.vocabularySize();
    }

    @Override
    public String token(int id) {
        return tokenizer.token(id);
    }

    @Override
    public int firstToken() {
        return tokenizer.specialIds().begin();
    }

    @Override
    public int lastToken() {
        return tokenizer.specialIds().end();
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
    public void append(String text, TokenBuffer to) {
        Checks.notNull(to, "to");
        tokenizer.append(Checks.notNull(text, "text"), specialInText, to);
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
