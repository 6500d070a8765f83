package io.multihead.fuzz;

import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenFilter;
import io.multihead.grammar.TokenMask;
import io.multihead.grammar.TokenVocabulary;
import io.multihead.text.SentencePieceTokenizer;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import io.multihead.text.TokenType;
import io.multihead.text.Vocabulary;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * A JSON schema, or a GBNF grammar after a byte {@code '1'}, of arbitrary text. It is refused, or each of its masks
 * allows a token, it accepts exactly the allowed tokens, and it has the same state after tokens were removed.
 */
public final class GrammarFuzz {
    private static final int STEPS = 24;
    private static final TokenVocabulary VOCABULARY = vocabulary();

    private GrammarFuzz() {}

    private static TokenVocabulary vocabulary() {
        List<String> tokens = new ArrayList<>(List.of("<s>", "</s>"));
        List<TokenType> types = new ArrayList<>(List.of(TokenType.CONTROL, TokenType.CONTROL));
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
            types.add(TokenType.BYTE);
        }
        for (String piece :
                List.of("{\"", "\":", "\",\"", "true", "ab", "12", "\"}", "]}", "\u2581", "\u2581a", "\u00e9")) {
            tokens.add(piece);
            types.add(TokenType.NORMAL);
        }
        SpecialIds special =
                new SpecialIds(0, 1, SpecialIds.NONE, SpecialIds.NONE, Set.of(1), AddedSpecialTokens.NEITHER);
        return new TokenVocabulary(SentencePieceTokenizer.of(
                Vocabulary.of(tokens, types).withScores(new float[tokens.size()]), special, SpacePrefix.NONE));
    }

    public static void fuzzerTestOneInput(byte[] input) {
        if (input.length == 0) {
            return;
        }
        String text = new String(input, 1, input.length - 1, StandardCharsets.UTF_8);
        Grammar[] read = new Grammar[1];
        if (Oracle.accepts("", () -> read[0] = input[0] == '1' ? Grammar.ofGbnf(text) : Grammar.ofJsonSchema(text))) {
            try {
                walk(read[0].begin(VOCABULARY), Arrays.hashCode(input));
            } catch (IllegalStateException limit) {
                Oracle.require(
                        String.valueOf(limit.getMessage()).contains("expected a grammar that is less ambiguous"),
                        "message: " + limit.getMessage());
            }
        }
    }

    /** Chooses allowed tokens with a seed. */
    private static void walk(TokenFilter filter, int seed) {
        int choice = seed;
        for (int step = 0; step < STEPS; step++) {
            TokenMask mask = mask(filter);
            Oracle.require(mask.count() > 0, "no token is allowed after " + step);
            choice = choice * 31 + 17;
            int token = mask.next(Math.floorMod(choice, mask.size()));
            token = token < 0 || token >= mask.size() ? mask.next(0) : token;
            int other = Math.floorMod(choice >>> 8, mask.size());
            Oracle.require(
                    mask.allows(other) || !takes(filter, other), "token " + other + " was taken, and not allowed");
            if (token == 1) {
                return;
            }
            int[] before = ids(mask);
            TokenFilter fork = filter.fork();
            fork.accept(token);
            filter.accept(token);
            int[] after = ids(mask(filter));
            Oracle.require(Arrays.equals(after, ids(mask(fork))), "a fork allows other tokens");
            filter.rollBack(1);
            Oracle.require(
                    Arrays.equals(before, ids(mask(filter))), "other tokens are allowed after one was taken back");
            filter.accept(token);
            Oracle.require(Arrays.equals(after, ids(mask(filter))), "other tokens are allowed the second time");
        }
    }

    private static boolean takes(TokenFilter filter, int token) {
        return Oracle.accepts("", () -> filter.accept(token));
    }

    private static TokenMask mask(TokenFilter filter) {
        TokenMask mask = new TokenMask(VOCABULARY.size());
        mask.allowAll();
        filter.restrict(mask);
        return mask;
    }

    private static int[] ids(TokenMask mask) {
        int[] ids = new int[mask.count()];
        int count = 0;
        for (int id = 0; id < mask.size(); id++) {
            if (mask.allows(id)) {
                ids[count++] = id;
            }
        }
        return ids;
    }
}
