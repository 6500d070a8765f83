package io.multihead.grammar;

import io.multihead.text.Tokenizer;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Texts of random tokens that a filter allows. */
final class GrammarWalk {
    private static final int SHORT = 20;

    private final TokenVocabulary vocabulary;
    private final Random random;
    private final TokenMask closers;
    final List<Integer> tokens = new ArrayList<>();
    boolean ended;

    GrammarWalk(TokenVocabulary vocabulary, Random random) {
        this.vocabulary = vocabulary;
        this.random = random;
        closers = new TokenMask(vocabulary.size());
        closers.forbidAll();
        for (int id = 0; id < vocabulary.size(); id++) {
            byte[] bytes = vocabulary.bytes(id);
            if (bytes.length > 0 && "\"]},".indexOf(bytes[0]) >= 0) {
                closers.allow(id);
            }
        }
    }

    /** Chooses tokens until the text ends, or has {@code most} tokens. */
    byte[] run(TokenFilter filter, int most) {
        Tokenizer tokenizer = vocabulary.tokenizer();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        while (tokens.size() < most && !ended) {
            TokenMask mask = new TokenMask(vocabulary.size());
            filter.restrict(mask);
            int token = choose(mask);
            filter.accept(token);
            tokens.add(token);
            ended = tokenizer.isStopToken(token);
            if (!ended) {
                bytes.writeBytes(tokenizer.pieceBytes(token));
            }
        }
        return bytes.toByteArray();
    }

    private int choose(TokenMask mask) {
        if (mask.count() == 0) {
            throw new AssertionError("nothing is allowed after " + text());
        }
        for (int stop : vocabulary.tokenizer().specialIds().stopTokens()) {
            if (mask.allows(stop) && random.nextBoolean()) {
                return stop;
            }
        }
        TokenMask closing = new TokenMask(vocabulary.size());
        closing.retain(mask);
        closing.retain(closers);
        boolean close = random.nextInt(10) < (tokens.size() > SHORT ? 8 : 3);
        TokenMask from = close && closing.count() > 0 ? closing : mask;
        int at = random.nextInt(from.count());
        // a token from the whole range of the vocabulary, without a list of the allowed tokens
        int token = from.next(random.nextInt(vocabulary.size()));
        token = token < 0 ? from.next(0) : token;
        if (vocabulary.size() < 1000) {
            token = from.next(0);
            for (int i = 0; i < at; i++) {
                token = from.next(token + 1);
            }
        }
        return token;
    }

    String text() {
        return vocabulary.tokenizer().decode(tokens.stream().mapToInt(id -> id).toArray());
    }

    /**
     * Accepts the tokens of a text and then the end. Returns an empty text, or the accepted part and the token that was
     * refused.
     */
    static String force(TokenFilter filter, TokenVocabulary vocabulary, String text) {
        StringBuilder done = new StringBuilder();
        for (int id : vocabulary.tokenizer().encode(text)) {
            TokenMask mask = new TokenMask(vocabulary.size());
            filter.restrict(mask);
            String piece = new String(vocabulary.bytes(id), StandardCharsets.UTF_8);
            if (!mask.allows(id)) {
                return "after " + done + " not " + piece;
            }
            filter.accept(id);
            done.append(piece);
        }
        TokenMask mask = new TokenMask(vocabulary.size());
        filter.restrict(mask);
        boolean ends = vocabulary.tokenizer().specialIds().stopTokens().stream().anyMatch(mask::allows);
        return ends ? "" : "no end after " + done;
    }
}
