package io.multihead.demo;

import io.multihead.model.TokenBatch;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Texts as token ids, which are computed together. */
record TextBatch(List<int[]> texts) {
    /**
     * The maximum number of tokens of a batch, as in the encoder, so that activations remain in the processor's cache.
     */
    private static final int MOST_TOKENS = 512;

    /** Tokenizes texts, and divides them into batches of at most {@link #MOST_TOKENS} tokens. */
    static List<TextBatch> of(EncoderTokenizer tokenizer, List<String> texts) {
        List<TextBatch> batches = new ArrayList<>();
        List<int[]> open = new ArrayList<>();
        int tokens = 0;
        for (String text : texts) {
            int[] ids = tokenizer.encodeWithSpecialTokens(text, MOST_TOKENS);
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

    /** Returns the tokens as a batch for one caller at a time. */
    TokenBatch tokenBatch() {
        TokenBatch batch = TokenBatch.of(MOST_TOKENS);
        for (int[] ids : texts) {
            batch.begin();
            Arrays.stream(ids).forEach(batch::add);
        }
        return batch;
    }

    /** Returns the vectors of the tokens of each text, which are their states divided by their lengths. */
    List<float[][]> tokenVectors(Tensor states) {
        List<float[][]> vectors = new ArrayList<>();
        int first = 0;
        for (int[] ids : texts) {
            float[][] own = new float[ids.length][];
            for (int i = 0; i < own.length; i++) {
                own[i] = unit(sum(states, first + i, 1));
            }
            vectors.add(own);
            first += ids.length;
        }
        return vectors;
    }

    /** Returns the vectors of the texts, which are the means of their tokens' states divided by their lengths. */
    List<float[]> pool(Tensor states) {
        List<float[]> vectors = new ArrayList<>();
        int first = 0;
        for (int[] ids : texts) {
            vectors.add(unit(sum(states, first, ids.length)));
            first += ids.length;
        }
        return vectors;
    }

    private static double[] sum(Tensor states, int first, int tokens) {
        float[] values = states.slice(0, first, first + tokens).toArray();
        double[] sum = new double[(int) states.dim(1)];
        for (int token = 0; token < values.length; token += sum.length) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] += values[token + i];
            }
        }
        return sum;
    }

    private static float[] unit(double... of) {
        double length = Math.sqrt(Arrays.stream(of).map(x -> x * x).sum());
        float[] vector = new float[of.length];
        for (int i = 0; i < vector.length; i++) {
            vector[i] = (float) (of[i] / length);
        }
        return vector;
    }
}
