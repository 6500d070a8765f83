package io.multihead.demo;

import java.util.List;

/** A kind of token that a head may attend to, relative to the query token. */
enum Pattern {
    PREVIOUS("the previous token"),
    NEXT("the next token"),
    SECOND_BEFORE("the token two before"),
    SECOND_AFTER("the token two after"),
    ITSELF("the token itself"),
    SAME_WORD("the same word elsewhere"),
    PUNCTUATION("punctuation"),
    FIRST("[CLS]"),
    LAST("[SEP]");

    /** The name in titles. */
    final String target;

    Pattern(String target) {
        this.target = target;
    }

    /** Returns whether the key is such a token for the query. */
    boolean matches(List<String> tokens, int query, int key) {
        return switch (this) {
            case PREVIOUS -> key == query - 1;
            case NEXT -> key == query + 1;
            case SECOND_BEFORE -> key == query - 2;
            case SECOND_AFTER -> key == query + 2;
            case ITSELF -> key == query;
            case SAME_WORD -> key != query && tokens.get(key).equals(tokens.get(query));
            case PUNCTUATION -> tokens.get(key).codePoints().noneMatch(c -> Character.isLetterOrDigit(c));
            case FIRST -> key == 0 && query != key;
            case LAST -> key == tokens.size() - 1 && query != key;
        };
    }

    /** Returns the mean weight on such tokens over the queries that have one, or 0 if no query has one. */
    double share(List<String> tokens, double[][] weights) {
        return share(weights, 0, weights.length, (query, key) -> matches(tokens, query, key));
    }

    /** Tests whether a key is a token of a kind, relative to a query. */
    interface Kind {
        boolean has(int query, int key);
    }

    /**
     * Returns the mean weight on tokens of a kind over the queries of a range that have one, or 0 if no query has one.
     */
    static double share(double[][] weights, int first, int end, Kind kind) {
        double sum = 0;
        int queries = 0;
        for (int query = first; query < end; query++) {
            boolean any = false;
            for (int key = 0; key < end; key++) {
                if (kind.has(query, key)) {
                    sum += weights[query][key];
                    any = true;
                }
            }
            queries += any ? 1 : 0;
        }
        return queries == 0 ? 0 : sum / queries;
    }
}
