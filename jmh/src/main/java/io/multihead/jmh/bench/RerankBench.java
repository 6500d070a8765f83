package io.multihead.jmh.bench;

import io.multihead.encoder.Reranker;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.Texts;
import io.multihead.jmh.peer.OnnxEncoder;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.annotations.Param;

/**
 * Scores of passages for a query by all-MiniLM-L6-v2 with a head of random weights, end to end, with the same
 * tokenizer. ONNX Runtime runs the exported encoder. The head has plain loops, which take 0.5 % of the encoder's time.
 */
public class RerankBench extends MiniLmComparison {
    private static final int DIM = 384;
    private static final String QUERY = Texts.NINE;

    private static final String SETTINGS = """
            , "architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"},
             "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity\"""";

    /** {@code onnxpadded} runs one batch with padding to the longest pair, {@code onnxsingle} runs pair by pair. */
    @Param({"multihead", "onnxpadded", "onnxsingle"})
    public String impl;

    /**
     * The number of passages and the tokens of each pair, including {@code [CLS]}, both {@code [SEP]} and a query of
     * nine tokens. Ragged pairs have 24 to 128 tokens.
     */
    @Param({"32x128", "32xragged"})
    public String passages;

    private final Map<String, Tensor> head = new LinkedHashMap<>();
    private Reranker reranker;

    @Override
    void open() throws IOException {
        head.put("pooler.dense.weight", Data.normal(1, 1 / Math.sqrt(DIM), DIM, DIM));
        head.put("pooler.dense.bias", Data.normal(2, 0.1, DIM));
        head.put("classifier.weight", Data.normal(3, 0.2, 1, DIM));
        head.put("classifier.bias", Data.normal(4, 0.1, 1));
        reranker = kept(Reranker.load(cpu, folder(1e-12, SETTINGS, head)));
        List<String> texts = Texts.random(passages, 24, 12);
        FloatBuffer expected = Data.zeros(texts.size());
        put(reranker.score(QUERY, texts), expected);
        FloatBuffer out = Data.zeros(texts.size());
        load(impl, () -> make(texts, out));
        // the sums of two f32 encoders round in different orders, and the outputs of the head are about 1
        Data.requireClose(impl, expected, out, 1e-4);
    }

    private Runnable make(List<String> texts, FloatBuffer out) throws Exception {
        if (impl.equals("multihead")) {
            return () -> put(reranker.score(QUERY, texts), out);
        }
        if (!impl.equals("onnxpadded") && !impl.equals("onnxsingle")) {
            throw unknown(impl);
        }
        EncoderTokenizer tokenizer = reranker.tokenizer();
        OnnxEncoder peer = onnxEncoder(MODEL, tokenizer);
        float[] dense = head.get("pooler.dense.weight").toArray();
        float[] denseBias = head.get("pooler.dense.bias").toArray();
        float[] classifier = head.get("classifier.weight").toArray();
        float bias = head.get("classifier.bias").toArray()[0];
        int step = impl.equals("onnxpadded") ? texts.size() : 1;
        return () -> {
            out.rewind();
            for (int from = 0; from < texts.size(); from += step) {
                for (float[] state : states(peer, tokenizer, texts.subList(from, from + step))) {
                    out.put(output(state, dense, denseBias, classifier, bias));
                }
            }
            out.rewind();
        };
    }

    private static float[][] states(OnnxEncoder peer, EncoderTokenizer tokenizer, List<String> texts) {
        int[] query = tokenizer.encodeWithSpecialTokens(QUERY);
        int[][] pairs = new int[texts.size()][];
        for (int i = 0; i < pairs.length; i++) {
            int[] passage = tokenizer.encodeWithSpecialTokens(texts.get(i));
            pairs[i] = new int[query.length + passage.length - 1];
            System.arraycopy(query, 0, pairs[i], 0, query.length);
            System.arraycopy(passage, 1, pairs[i], query.length, passage.length - 1);
        }
        return peer.firstStates(pairs, pair -> query.length);
    }

    private static float output(float[] state, float[] dense, float[] denseBias, float[] classifier, float bias) {
        float output = bias;
        for (int i = 0; i < DIM; i++) {
            float sum = denseBias[i];
            for (int j = 0; j < DIM; j++) {
                sum += dense[i * DIM + j] * state[j];
            }
            output += classifier[i] * (float) Math.tanh(sum);
        }
        return output;
    }

    private static void put(double[] scores, FloatBuffer to) {
        to.rewind();
        for (double score : scores) {
            to.put((float) score);
        }
        to.rewind();
    }
}
