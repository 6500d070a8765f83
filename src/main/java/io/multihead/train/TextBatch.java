package io.multihead.train;

import io.multihead.attention.PackedSequences;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.run.PairFormat;
import io.multihead.internal.encoder.run.PairTruncation;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.util.Arrays;
import java.util.List;

/**
 * The tokens of a batch of texts, one text after another.
 *
 * @param types the token types: 1 in the second text of a pair that is one sequence, otherwise 0
 */
@SuppressWarnings("ArrayRecordComponent")
record TextBatch(int[] ids, int[] positions, int[] types, PackedSequences sequences) {
    static TextBatch of(EncoderTokenizer tokenizer, List<String> texts, int mostTokens) {
        if (texts.isEmpty()) {
            throw Checks.fail("texts", "none", "expected one or more");
        }
        int[][] each = new int[texts.size()][];
        Arrays.setAll(each, i -> tokenizer.encodeWithSpecialTokens(texts.get(i), mostTokens));
        return of(each, new int[each.length][]);
    }

    /** Returns pairs of texts. Each pair is one sequence, which is truncated to a length in the same way as in a reranker. */
    static TextBatch ofPairs(
            EncoderTokenizer tokenizer, PairFormat format, List<String> first, List<String> second, int mostTokens) {
        int[][] each = new int[first.size()][];
        int[][] types = new int[each.length][];
        int room = mostTokens - format.added();
        for (int i = 0; i < each.length; i++) {
            int[] left = tokenizer.encode(first.get(i));
            int[] right = tokenizer.encode(second.get(i));
            int ofLeft = PairTruncation.keptOfFirst(left.length, right.length, room);
            int ofRight = PairTruncation.keptOfSecond(left.length, right.length, room);
            int middle = 1 + ofLeft + format.between().length;
            int[] ids = new int[middle + ofRight + 1];
            ids[0] = format.begin();
            System.arraycopy(left, 0, ids, 1, ofLeft);
            System.arraycopy(format.between(), 0, ids, 1 + ofLeft, format.between().length);
            System.arraycopy(right, 0, ids, middle, ofRight);
            ids[middle + ofRight] = format.end();
            each[i] = ids;
            types[i] = new int[ids.length];
            Arrays.fill(types[i], middle, ids.length, format.secondType());
        }
        return of(each, types);
    }

    /** Returns sequences of ids; sequences without types have type 0. */
    static TextBatch of(int[][] each, int[][] types) {
        long[] lengths = Arrays.stream(each).mapToLong(one -> one.length).toArray();
        int tokens = Checks.fitsInt(Arrays.stream(lengths).sum(), "tokens");
        int[] ids = new int[tokens];
        int[] positions = new int[tokens];
        int[] ofTypes = new int[tokens];
        int at = 0;
        for (int i = 0; i < each.length; i++) {
            System.arraycopy(each[i], 0, ids, at, each[i].length);
            if (types[i] != null) {
                System.arraycopy(types[i], 0, ofTypes, at, each[i].length);
            }
            for (int token = 0; token < each[i].length; token++) {
                positions[at++] = token;
            }
        }
        return new TextBatch(ids, positions, ofTypes, PackedSequences.ofLengths(lengths));
    }

    int tokens() {
        return ids.length;
    }

    /** Returns the number of elements of the rows of all tokens. */
    int elements(int dim) {
        return Checks.product("texts", tokens(), dim);
    }

    /** Returns the mean of each text's rows: summed in {@code double} in the order of tokens, and rounded once. */
    Tensor means(Tensor states, int dim) {
        float[] rows = states.toArray();
        float[] means = new float[sequences.count() * dim];
        for (int text = 0; text < sequences.count(); text++) {
            for (int i = 0; i < dim; i++) {
                double sum = 0;
                for (long token = sequences.start(text); token < sequences.end(text); token++) {
                    sum += rows[(int) token * dim + i];
                }
                means[text * dim + i] = (float) (sum / sequences.length(text));
            }
        }
        return Tensor.of(means, sequences.count(), dim);
    }

    /** Returns some of the rows, in order. */
    static Tensor rows(Tensor states, int[] numbers, int dim) {
        float[] all = states.toArray();
        float[] some = new float[Checks.product("rows", numbers.length, dim)];
        for (int i = 0; i < numbers.length; i++) {
            System.arraycopy(all, numbers[i] * dim, some, i * dim, dim);
        }
        return Tensor.of(some, numbers.length, dim);
    }

    /**
     * Returns the gradient of all rows from the gradient of some rows, of which none is repeated. The gradient of the other
     * rows is 0.
     */
    Tensor rowsGradient(Tensor some, int[] numbers, int dim) {
        float[] given = some.toArray();
        float[] rows = new float[elements(dim)];
        for (int i = 0; i < numbers.length; i++) {
            System.arraycopy(given, i * dim, rows, numbers[i] * dim, dim);
        }
        return Tensor.of(rows, tokens(), dim);
    }

    /** Returns the indices of the first tokens of all texts. */
    int[] firsts() {
        int[] firsts = new int[sequences.count()];
        Arrays.setAll(firsts, text -> (int) sequences.start(text));
        return firsts;
    }

    /** Returns the gradient of the rows from the gradient of their means. */
    Tensor meansGradient(Tensor means, int dim) {
        float[] given = means.toArray();
        float[] rows = new float[elements(dim)];
        for (int text = 0; text < sequences.count(); text++) {
            for (long token = sequences.start(text); token < sequences.end(text); token++) {
                for (int i = 0; i < dim; i++) {
                    rows[(int) token * dim + i] = given[text * dim + i] / sequences.length(text);
                }
            }
        }
        return Tensor.of(rows, tokens(), dim);
    }
}
