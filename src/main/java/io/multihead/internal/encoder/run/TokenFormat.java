package io.multihead.internal.encoder.run;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.load.TokenSettings;
import io.multihead.model.TokenBatch;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.TokenBuffer;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The form in which a text becomes a sequence: {@code [CLS] prefix text [SEP]}, followed by masks up to a length (Khattab and Zaharia 2020,
 * section 3.2).
 */
public final class TokenFormat {
    private static final String MASK = "[MASK]";
    private static final int NONE = -1;

    private final EncoderTokenizer tokenizer;
    private final int prefix;
    private final int mask;
    private final int most;
    private final boolean masksAreSeen;
    private final BitSet skipped;

    private TokenFormat(
            EncoderTokenizer tokenizer, int prefix, int mask, int most, boolean masksAreSeen, BitSet skipped) {
        this.tokenizer = tokenizer;
        this.prefix = prefix;
        this.mask = mask;
        this.most = most;
        this.masksAreSeen = masksAreSeen;
        this.skipped = skipped;
    }

    /** A tokenizer with the ids of its vocabulary's tokens, which all formats look up, and the number of rows of the model. */
    public record Ids(EncoderTokenizer tokenizer, int rows, Map<String, Integer> ids) {
        public static Ids of(EncoderTokenizer tokenizer, int rows) {
            Map<String, Integer> ids = new HashMap<>();
            for (int id = 0; id < tokenizer.vocabularySize(); id++) {
                ids.put(tokenizer.token(id), id);
            }
            return new Ids(tokenizer, rows, ids);
        }

        private int require(String token, String setting) {
            Integer id = ids.get(token);
            if (id == null) {
                throw Checks.fail(setting, "\"" + token + "\"", "expected a token of the vocabulary");
            }
            return id;
        }

        /** Returns the id of a token that all sequences contain. */
        private int around(String token, String setting) {
            int id = require(token, setting);
            if (id >= rows) {
                throw Checks.fail(
                        setting,
                        "\"" + token + "\" with id " + id,
                        "expected an id below the " + rows + " of the model's word embeddings");
            }
            return id;
        }
    }

    public static TokenFormat ofQueries(Ids ids, TokenSettings settings) {
        int mask = settings.expands() ? ids.around(MASK, "mask_token") : NONE;
        return new TokenFormat(
                ids.tokenizer,
                prefix(ids, settings.queryPrefix(), "query_prefix"),
                mask,
                settings.queryTokens(),
                settings.masksAreSeen(),
                new BitSet());
    }

    /**
     * Returns the format of documents. As in PyLate, a skipped word that is not a token stands for the unknown token, and tokens around a text
     * are treated like tokens in the text.
     */
    public static TokenFormat ofDocuments(Ids ids, TokenSettings settings) {
        EncoderTokenizer tokenizer = ids.tokenizer;
        int prefix = prefix(ids, settings.documentPrefix(), "document_prefix");
        BitSet skipped = skipped(ids, settings.skipped());
        if (skipped.get(tokenizer.firstToken())
                && (prefix == NONE || skipped.get(prefix))
                && skipped.get(tokenizer.lastToken())) {
            throw Checks.fail(
                    "skiplist_words",
                    "all tokens around a text",
                    "expected one that is not skipped, since a document of skipped words would have no vector");
        }
        return new TokenFormat(tokenizer, prefix, NONE, settings.documentTokens(), true, skipped);
    }

    private static int prefix(Ids ids, String token, String setting) {
        return token.isEmpty() ? NONE : ids.around(token, setting);
    }

    private static BitSet skipped(Ids ids, List<String> words) {
        BitSet skipped = new BitSet();
        for (String word : words) {
            Integer id = ids.ids.get(word);
            skipped.set(id == null ? ids.require("[UNK]", "unk_token") : id);
        }
        return skipped;
    }

    /** Returns the largest number of tokens of a sequence. */
    public int most() {
        return most;
    }

    /** Returns the number of tokens of a text's sequence. */
    public int length(TokenBuffer text) {
        return mask == NONE ? kept(text) + around() : most;
    }

    private int kept(TokenBuffer text) {
        return Math.min(text.size(), most - around());
    }

    private int around() {
        return prefix == NONE ? 2 : 3;
    }

    /** Adds a text's sequence, and records which of its tokens have vectors. */
    public void add(TokenBatch batch, TokenBuffer text, boolean[] hasVector) {
        int kept = kept(text);
        batch.begin();
        add(batch, tokenizer.firstToken(), hasVector);
        if (prefix != NONE) {
            add(batch, prefix, hasVector);
        }
        for (int token = 0; token < kept; token++) {
            add(batch, text.id(token), hasVector);
        }
        add(batch, tokenizer.lastToken(), hasVector);
        if (!masksAreSeen) {
            batch.endKeys();
        }
        for (int length = kept + around(); length < length(text); length++) {
            add(batch, mask, hasVector);
        }
    }

    private void add(TokenBatch batch, int id, boolean[] hasVector) {
        hasVector[batch.tokens()] = !skipped.get(id);
        batch.add(id);
    }
}
