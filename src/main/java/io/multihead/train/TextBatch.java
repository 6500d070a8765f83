package io.multihead.train;

import io.multihead.attention.PackedSequences;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.util.List;

/** The tokens of a batch of texts, one text after another. */
@SuppressWarnings("ArrayRecordComponent")
record TextBatch(int[] ids, int[] positions, PackedSequences sequences) {
    static TextBatch of(EncoderTokenizer tokenizer, List<String> texts, int mostTokens) {
        if (texts.isEmpty()) {
            throw Checks.fail("texts", "none", "expected one or more");
        }
        int[][] each = new int[texts.size()][];
        long[] lengths = new long[each.length];
        int tokens = 0;
        for (int i = 0; i < each.length; i++) {
            each[i] = tokenizer.encodeWithSpecialTokens(texts.get(i), mostTokens);
            lengths[i] = each[i].length;
            tokens = Math.addExact(tokens, each[i].length);
        }
        int[] ids = new int[tokens];
        int[] positions = new int[tokens];
        int at = 0;
        for (int[] one : each) {
            for (int token = 0; token < one.length; token++) {
                ids[at] = one[token];
                positions[at++] = token;
            }
        }
        return new TextBatch(ids, positions, PackedSequences.ofLengths(lengths));
    }

    int tokens() {
        return ids.length;
    }

    /** Returns how many elements the rows of all tokens have. */
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

    /** Returns the gradient of the rows, given that of their means. */
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
