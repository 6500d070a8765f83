package io.multihead.jmh.peer;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.multihead.text.EncoderTokenizer;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/**
 * An exported BERT model in ONNX Runtime. The result is the mean over the tokens without padding, divided by its
 * length, or the first state.
 */
public final class OnnxEncoder implements AutoCloseable {
    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final EncoderTokenizer tokenizer;
    private final OrtSession session;

    public OnnxEncoder(byte[] model, EncoderTokenizer tokenizer, int threads) throws OrtException {
        this.tokenizer = tokenizer;
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            options.setIntraOpNumThreads(threads);
            session = environment.createSession(model, options);
        }
    }

    /** Computes one batch in which every text is padded to the longest text. */
    public float[][] embedPadded(List<String> texts) {
        int[][] ids = texts.stream().map(tokenizer::encodeWithSpecialTokens).toArray(int[][]::new);
        return run(ids, text -> 0, OnnxEncoder::mean);
    }

    public float[][] embedSingly(List<String> texts) {
        float[][] vectors = new float[texts.size()][];
        for (int i = 0; i < vectors.length; i++) {
            vectors[i] = embedPadded(texts.subList(i, i + 1))[0];
        }
        return vectors;
    }

    /**
     * Computes the states of the first tokens of pairs in one padded batch. The second text of a pair begins after
     * {@code seconds} tokens.
     */
    public float[][] firstStates(int[][] pairs, IntUnaryOperator seconds) {
        return run(pairs, pair -> pairs[pair].length - seconds.applyAsInt(pair), (states, first, tokens, dim) -> {
            float[] row = new float[dim];
            states.get(first * dim, row);
            return row;
        });
    }

    /** Returns the result for the states of a sequence. */
    private interface Pooling {
        float[] of(FloatBuffer states, int first, int tokens, int dim);
    }

    /** Runs texts. The last {@code ofTypeOne} tokens of a text have type 1. */
    private float[][] run(int[][] texts, IntUnaryOperator ofTypeOne, Pooling pooling) {
        int longest = Arrays.stream(texts).mapToInt(ids -> ids.length).max().orElse(0);
        long[] shape = {texts.length, longest};
        LongBuffer ids = LongBuffer.allocate(texts.length * longest);
        LongBuffer mask = LongBuffer.allocate(texts.length * longest);
        LongBuffer types = LongBuffer.allocate(texts.length * longest);
        for (int text = 0; text < texts.length; text++) {
            for (int token = 0; token < texts[text].length; token++) {
                ids.put(text * longest + token, texts[text][token]);
                mask.put(text * longest + token, 1);
            }
            for (int token = 1; token <= ofTypeOne.applyAsInt(text); token++) {
                types.put(text * longest + texts[text].length - token, 1);
            }
        }
        try (OnnxTensor input = OnnxTensor.createTensor(environment, ids, shape);
                OnnxTensor seen = OnnxTensor.createTensor(environment, mask, shape);
                OnnxTensor typed = OnnxTensor.createTensor(environment, types, shape);
                OrtSession.Result result =
                        session.run(Map.of("input_ids", input, "attention_mask", seen, "token_type_ids", typed))) {
            FloatBuffer states = ((OnnxTensor) result.get(0)).getFloatBuffer();
            int dim = states.capacity() / (texts.length * longest);
            float[][] vectors = new float[texts.length][];
            for (int text = 0; text < texts.length; text++) {
                vectors[text] = pooling.of(states, text * longest, texts[text].length, dim);
            }
            return vectors;
        } catch (OrtException e) {
            throw new IllegalStateException(e);
        }
    }

    private static float[] mean(FloatBuffer states, int first, int tokens, int dim) {
        float[] row = new float[dim];
        float[] mean = new float[dim];
        for (int token = 0; token < tokens; token++) {
            states.get((first + token) * dim, row);
            for (int i = 0; i < dim; i++) {
                mean[i] += row[i] / tokens;
            }
        }
        double squares = 0;
        for (float x : mean) {
            squares += x * x;
        }
        for (int i = 0; i < dim; i++) {
            mean[i] /= (float) Math.sqrt(squares);
        }
        return mean;
    }

    @Override
    public void close() throws OrtException {
        session.close();
    }
}
