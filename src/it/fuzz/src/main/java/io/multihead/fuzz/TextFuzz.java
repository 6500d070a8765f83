package io.multihead.fuzz;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import io.multihead.text.TextNormalization;
import io.multihead.text.TokenBuffer;
import io.multihead.text.WordPiece;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Encodes arbitrary texts, including unpaired surrogates, with tokenizers of all normalizations. */
public final class TextFuzz {
    private static final WordPiece[] TOKENIZERS = IntStream.range(0, 16)
            .mapToObj(flags -> WordPiece.ofVocabulary(
                    SmallModel.VOCABULARY,
                    new TextNormalization((flags & 1) == 0, (flags & 2) == 0, (flags & 4) == 0, (flags & 8) == 0)))
            .toArray(WordPiece[]::new);

    private TextFuzz() {}

    public static void fuzzerTestOneInput(FuzzedDataProvider data) {
        WordPiece tokenizer =
                TOKENIZERS[data.consumeInt(0, TOKENIZERS.length - 1)].withSpecialTokensInText(data.consumeBoolean());
        int most = data.consumeInt(2, 40);
        String text = data.consumeString(200);
        String rest = data.consumeRemainingAsString();
        Oracle.check(text.length() + rest.length(), () -> {
            int[] ids = check(tokenizer, text);
            int[] others = check(tokenizer, rest);
            int[] both = tokenizer.encodeWithSpecialTokens(text + " " + rest);
            int[] joined = Arrays.copyOf(ids, ids.length + others.length - 2);
            System.arraycopy(others, 1, joined, ids.length - 1, others.length - 1);
            Oracle.require(Arrays.equals(both, joined), "tokens of a text depend on words before it");
            int[] cut = tokenizer.encodeWithSpecialTokens(text, most);
            int[] expected = Arrays.copyOf(ids, Math.min(ids.length, most));
            expected[expected.length - 1] = tokenizer.lastToken();
            Oracle.require(Arrays.equals(cut, expected), "truncation to " + most);
        });
    }

    /** Checks ids and offsets, and returns the ids. */
    static int[] check(WordPiece tokenizer, String text) {
        TokenBuffer tokens = new TokenBuffer();
        tokenizer.append(text, tokens);
        int[] ids = tokenizer.encodeWithSpecialTokens(text);
        Oracle.require(ids.length == tokens.size() + 2 && tokenizer.count(text) == tokens.size(), "number of tokens");
        int end = 0;
        for (int i = 0; i < tokens.size(); i++) {
            Oracle.require(tokens.id(i) == ids[i + 1], "ids of append and encode");
            tokenizer.token(ids[i + 1]);
            // the pieces of a character that becomes several characters share its offsets
            Oracle.require(tokens.start(i) < tokens.end(i) && tokens.end(i) <= text.length(), "offsets");
            Oracle.require(
                    tokens.end(i) >= end && (tokens.start(i) >= end || tokens.end(i) == end), "order of offsets");
            end = tokens.end(i);
        }
        return ids;
    }
}
