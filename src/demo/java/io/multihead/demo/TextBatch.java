package io.multihead.demo;

import io.multihead.model.TokenBatch;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Texts as ids of tokens, which are computed together. */
record TextBatch(List<int[]> texts) {
    /** As many as the encoder packs: activations stay in the cache. */
    private static final int MOST_TOKENS = 512;

    /** Tokenizes texts, as many to a batch as fit. */
    static List<TextBatch> of(EncoderTokenizer tokenizer, List<String> texts) {
        List<TextBatch> batches = new ArrayList<>();
        List<int[]> open = new ArrayList<>();
        int tokens = 0;
        for (String text : texts) {
            int[] ids = tokenizer.encode(text, MOST_TOKENS);
            if (tokens + ids.length > MOST_TOKENS) {
                batches.add(new TextBatch(List.copyOf(open)));
                open.clear();
                tokens = 0;
            }
            open.add(ids);
            tokens += ids.length;
        }
        batches.add(new TextBatch(List.copyOf(open)));
        return List.copyOf(batches);
    }

    int tokens() {
        return texts.stream().mapToInt(ids -> ids.length).sum();
    }

    /** Returns the tokens for one caller at a time. */
    TokenBatch tokenBatch() {
        TokenBatch batch = TokenBatch.of(MOST_TOKENS);
        for (int[] ids : texts) {
            batch.begin();
            Arrays.stream(ids).forEach(batch::add);
        }
        return batch;
    }

    /** Returns the vectors of the texts: the mean of their tokens' states, of length 1. */
    List<float[]> pool(Tensor states) {
        float[] values = states.toArray();
        int dim = (int) states.dim(1);
        List<float[]> vectors = new ArrayList<>();
        int token = 0;
        for (int[] ids : texts) {
            double[] sum = new double[dim];
            for (int end = token + ids.length; token < end; token++) {
                for (int i = 0; i < dim; i++) {
                    sum[i] += values[token * dim + i];
                }
            }
            double length = Math.sqrt(Arrays.stream(sum).map(x -> x * x).sum());
            float[] vector = new float[dim];
            for (int i = 0; i < dim; i++) {
                vector[i] = (float) (sum[i] / length);
            }
            vectors.add(vector);
        }
        return vectors;
    }
}
