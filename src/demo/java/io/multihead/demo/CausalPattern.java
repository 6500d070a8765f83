package io.multihead.demo;

/**
 * A kind of earlier token that a head may attend to. The first token is not counted as a query, since it sees only
 * itself.
 */
enum CausalPattern {
    PREVIOUS("the previous piece"),
    ITSELF("the piece itself"),
    FIRST("the first piece"),
    WORD("the piece that begins its word"),
    SAME_BEFORE("the same piece before"),
    /** The token that an induction head attends to (Olsson et al. 2022). */
    AFTER_SAME("the piece after an earlier copy of this piece");

    /** The name in titles. */
    final String target;

    CausalPattern(String target) {
        this.target = target;
    }

    /**
     * A text.
     *
     * @param ids its tokens
     * @param begins whether each token begins a word
     */
    @SuppressWarnings("ArrayRecordComponent")
    record Text(int[] ids, boolean[] begins) {
        int length() {
            return ids.length;
        }

        int word(int token) {
            int at = token;
            while (at > 0 && !begins[at]) {
                at--;
            }
            return at;
        }
    }

    /** Returns whether the key is such a token for the query. A later key is not. */
    boolean matches(Text text, int query, int key) {
        int[] tokens = text.ids;
        return switch (this) {
            case PREVIOUS -> key == query - 1;
            case ITSELF -> key == query;
            case FIRST -> key == 0;
            case WORD -> key < query && key == text.word(query);
            case SAME_BEFORE -> key < query && tokens[key] == tokens[query];
            case AFTER_SAME -> key > 0 && key < query && tokens[key - 1] == tokens[query];
        };
    }

    /** Returns the mean weight on such tokens over the queries that have one, or 0 if no query has one. */
    double share(Text text, double[][] weights) {
        return Pattern.share(weights, 1, text.length(), (query, key) -> matches(text, query, key));
    }

    /** Returns the share of a head that attends to all tokens equally. */
    double chance(Text text) {
        double[][] even = new double[text.length()][text.length()];
        for (int query = 0; query < text.length(); query++) {
            java.util.Arrays.fill(even[query], 0, query + 1, 1.0 / (query + 1));
        }
        return share(text, even);
    }
}
