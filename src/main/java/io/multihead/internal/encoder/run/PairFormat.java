package io.multihead.internal.encoder.run;

import io.multihead.internal.base.Checks;
import io.multihead.model.TokenBatch;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.TokenBuffer;
import java.util.Arrays;

/**
 * The form in which two texts become one sequence: {@code [CLS] first [SEP] second [SEP]}, where the second text and its {@code [SEP]} have the
 * token type that the tokenizer's files state.
 *
 * @param begin id of the token before the first text
 * @param between ids of the tokens between the texts, of the first text's type
 * @param end id of the token after the second text
 * @param secondType token type of the second text
 */
@SuppressWarnings("ArrayRecordComponent")
public record PairFormat(int begin, int[] between, int end, int secondType) {
    /** Returns the format of a tokenizer, for a model of {@code types} token types. */
    public static PairFormat of(EncoderTokenizer tokenizer, int types) {
        int[] between = new int[tokenizer.separators()];
        if (between.length == 0) {
            throw Checks.fail(
                    "tokenizer",
                    "another template for pairs",
                    "expected the first token, A, the last token at least once, B, and the last token, of types 0, and 1 from B on");
        }
        Arrays.fill(between, tokenizer.lastToken());
        // models like RoBERTa get no types, even if a template states types
        int secondType = between.length > 1 ? 0 : Math.min(tokenizer.secondType(), types - 1);
        return new PairFormat(tokenizer.firstToken(), between, tokenizer.lastToken(), secondType);
    }

    /** Returns the number of tokens in addition to the tokens of the texts. */
    public int added() {
        return between.length + 2;
    }

    /** Adds a sequence of the first tokens of two texts. */
    void add(TokenBatch batch, TokenBuffer first, int firstTokens, TokenBuffer second, int secondTokens) {
        batch.begin();
        batch.add(begin);
        for (int token = 0; token < firstTokens; token++) {
            batch.add(first.id(token));
        }
        for (int separator : between) {
            batch.add(separator);
        }
        for (int token = 0; token < secondTokens; token++) {
            batch.add(second.id(token), secondType);
        }
        batch.add(end, secondType);
    }
}
