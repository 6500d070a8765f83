package io.multihead.reference;

import io.multihead.internal.base.Checks;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** The choice of a token from probabilities, with a full sort and plain sums in {@code double}. */
public final class ReferenceSampling {
    private ReferenceSampling() {}

    /**
     * Chooses a token. Top-k keeps the most probable {@code topK} tokens. In order of rank, top-p keeps each of these tokens if the tokens
     * before it have less than {@code topP} of the sum of all tokens that top-k kept (Holtzman et al. 2020, section 3.1). Min-p keeps each
     * of the remaining tokens if its probability is at least {@code minP} times the largest probability (Nguyen et al. 2024). Tokens of
     * equal probability rank in order of their ids. Tokens of probability 0 are never chosen. If all tokens are kept, intervals are in the
     * order of ids, else in the order of ranks.
     *
     * @param probabilities the probabilities of tokens, from 0 to 1
     * @param topK keeps this number of tokens; 0 keeps all
     * @param topP keeps tokens until their share reaches this number; 1 keeps all
     * @param minP drops tokens whose probability is less than this factor times the largest
     *     probability
     * @param uniform the random number, from 0 to 1
     * @return a token
     * @throws IllegalArgumentException if no token has a probability above 0
     */
    public static int choose(double[] probabilities, int topK, double topP, double minP, double uniform) {
        return draw(probabilities, kept(probabilities, topK, topP, minP), uniform);
    }

    /**
     * Chooses the token whose interval contains the number, or the last token.
     *
     * @param probabilities the probabilities of tokens, from 0 to 1
     * @param ids the ids in the order of their intervals, at least one
     * @param uniform the number, from 0 to 1; a smaller number chooses the first token, a larger number
     *     the last
     * @return a token
     * @throws IllegalArgumentException if there are no ids, or an id has no probability
     */
    public static int draw(double[] probabilities, List<Integer> ids, double uniform) {
        int tokens = Checks.notNull(probabilities, "probabilities").length;
        Checks.noNulls(ids, "ids").forEach(id -> Checks.index(id, tokens, "ids"));
        Checks.atLeast(ids.size(), 1, "ids.size()");
        double left = uniform * sum(probabilities, ids);
        for (int id : ids) {
            left -= probabilities[id];
            if (left < 0) {
                return id;
            }
        }
        return ids.getLast();
    }

    /**
     * Returns the tokens that may be chosen, in the order of their intervals.
     *
     * @param probabilities the probabilities of tokens, from 0 to 1
     * @param topK keeps this number of tokens; 0 keeps all
     * @param topP keeps tokens until their share reaches this number; 1 keeps all
     * @param minP drops tokens whose probability is less than this factor times the largest
     *     probability
     * @return ids, at least one
     * @throws IllegalArgumentException if no token has a probability above 0
     */
    public static List<Integer> kept(double[] probabilities, int topK, double topP, double minP) {
        List<Integer> ids = IntStream.range(0, Checks.notNull(probabilities, "probabilities").length)
                .filter(id -> probabilities[id] > 0)
                .boxed()
                .toList();
        if (ids.isEmpty()) {
            throw Checks.fail("probabilities", "no positive one", "expected one");
        }
        if (topK == 0 && topP == 1 && minP == 0) {
            return ids;
        }
        ids = ids.stream()
                .sorted(Comparator.comparing((Integer id) -> -probabilities[id]))
                .limit(topK > 0 ? topK : ids.size())
                .toList();
        return ids.subList(0, count(probabilities, ids, topP, minP));
    }

    /** Returns the number of tokens that top-p and min-p keep, at least one. */
    private static int count(double[] probabilities, List<Integer> ids, double topP, double minP) {
        double limit = topP < 1 ? topP * sum(probabilities, ids) : Double.POSITIVE_INFINITY;
        double least = minP * probabilities[ids.getFirst()];
        int count = 1;
        while (count < ids.size()
                && sum(probabilities, ids.subList(0, count)) < limit
                && probabilities[ids.get(count)] >= least) {
            count++;
        }
        return count;
    }

    private static double sum(double[] probabilities, List<Integer> ids) {
        double sum = 0;
        for (int id : ids) {
            sum += probabilities[id];
        }
        return sum;
    }
}
