package io.multihead.encoder;

import io.multihead.model.TokenBatch;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.TokenBuffer;
import java.util.Arrays;

/**
 * How two texts become one sequence: {@code [CLS] first [SEP] second [SEP]}, the second text and its {@code [SEP]} of token type 1 where a
 * model has several types.
 *
 * @param begin id of the token before the first text
 * @param between ids of the tokens between the texts, of the first one's type
 * @param end id of the token after the second text
 * @param secondType token type of the second text
 */
@SuppressWarnings("ArrayRecordComponent")
record PairFormat(int begin, int[] between, int end, int secondType) {
    /** Returns the format of a tokenizer, for a model of {@code types} token types. */
    static PairFormat of(EncoderTokenizer tokenizer, int types) {
        int[] between = new int[tokenizer.separators()];
        Arrays.fill(between, tokenizer.lastToken());
        // tokenizers of RoBERTa's kind give all tokens type 0, however many types a model has
        int secondType = between.length > 1 ? 0 : Math.min(1, types - 1);
        return new PairFormat(tokenizer.firstToken(), between, tokenizer.lastToken(), secondType);
    }

    /** Returns how many tokens there are beside those of the texts. */
    int added() {
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
