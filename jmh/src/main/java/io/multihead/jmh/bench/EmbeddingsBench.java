package io.multihead.jmh.bench;

import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.onnx.allminilml6v2.AllMiniLmL6V2EmbeddingModel;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.Texts;
import io.multihead.jmh.peer.OnnxEncoder;
import io.multihead.model.Pooling;
import java.io.IOException;
import java.io.InputStream;
import java.nio.FloatBuffer;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.openjdk.jmh.annotations.Param;

/**
 * Vectors of texts by all-MiniLM-L6-v2, end to end. All impls except {@code multiheadids} tokenize. All except
 * {@code langchain4j} use the same tokenizer, so that only the encoders differ. Reports have no ratio of
 * {@code multiheadids}, which does less work, and of {@code onnxint8}, which has another model.
 */
public class EmbeddingsBench extends MiniLmComparison {
    private static final String INT8_MODEL = "/all-minilm-l6-v2-q.onnx";
    /**
     * {@code multiheadids} begins with token ids. {@code onnxpadded} runs one batch with padding to the longest text,
     * {@code onnxsingle} runs text by text. {@code langchain4j} is langchain4j's class, which also runs text by text,
     * with another tokenizer. Its ONNX Runtime uses a thread for each processor, even if the process may use fewer
     * processors. {@code onnxint8} is the int8 model in a padded batch. Set-up prints the cosines between its vectors
     * and the vectors of the f32 model. These cosines depend on the other texts of the batch.
     */
    @Param({"multihead", "multiheadids", "onnxpadded", "onnxsingle", "langchain4j", "onnxint8"})
    public String impl;

    /**
     * The number of texts and the tokens of each text, including {@code [CLS]} and {@code [SEP]}. Ragged texts have 8
     * to 128 tokens.
     */
    @Param({"1x16", "1x64", "1x128", "1x512", "32x128", "32xragged"})
    public String texts;

    private SentenceEncoder encoder;

    @Override
    void open() throws IOException {
        try (InputStream model = resource(MODEL);
                InputStream tokenizer = resource(TOKENIZER)) {
            encoder = kept(SentenceEncoder.ofOnnx(cpu, model, tokenizer, Pooling.MEAN));
        }
        List<String> all = Texts.random(texts, 8, 2);
        FloatBuffer expected = Data.zeros(all.size() * encoder.dimension());
        put(encoder.embed(all), expected);
        FloatBuffer out = Data.zeros(expected.capacity());
        load(impl, () -> make(all, out));
        if (impl.equals("onnxint8")) {
            requireCosines(expected, out);
        } else {
            // the sums of two f32 encoders round in different orders: 3e-7 for elements of vectors of length 1
            Data.requireClose(impl, expected, out, 1e-5);
        }
    }

    private Runnable make(List<String> all, FloatBuffer out) throws Exception {
        return switch (impl) {
            case "multihead" -> () -> put(encoder.embed(all), out);
            case "multiheadids" -> {
                List<int[]> ids = all.stream()
                        .map(encoder.tokenizer()::encodeWithSpecialTokens)
                        .toList();
                yield () -> put(encoder.embedTokens(ids), out);
            }
            case "onnxpadded", "onnxsingle", "onnxint8" -> {
                String name = impl.equals("onnxint8") ? INT8_MODEL : MODEL;
                OnnxEncoder peer = onnxEncoder(name, encoder.tokenizer());
                boolean padded = !impl.equals("onnxsingle");
                yield () -> put(padded ? peer.embedPadded(all) : peer.embedSingly(all), out);
            }
            case "langchain4j" -> langchain4j(all, out);
            default -> throw unknown(impl);
        };
    }

    private Runnable langchain4j(List<String> all, FloatBuffer out) {
        if (threads != Runtime.getRuntime().availableProcessors()) {
            throw new IllegalArgumentException(
                    "threads: " + threads + "; expected as many as there are processors for langchain4j");
        }
        ExecutorService executor = kept(Executors.newFixedThreadPool(threads));
        EmbeddingModel model = new AllMiniLmL6V2EmbeddingModel(executor);
        List<TextSegment> segments = all.stream().map(TextSegment::from).toList();
        return () -> {
            out.rewind();
            model.embedAll(segments).content().forEach(embedding -> out.put(embedding.vector()));
            out.rewind();
        };
    }

    /** Prints the range of the cosines, and fails for another model, since all cosines are above 0.9. */
    private void requireCosines(FloatBuffer expected, FloatBuffer actual) {
        int dim = encoder.dimension();
        DoubleSummaryStatistics cosines = new DoubleSummaryStatistics();
        for (int at = 0; at < expected.capacity(); at += dim) {
            double cosine = 0;
            for (int i = 0; i < dim; i++) {
                cosine += expected.get(at + i) * actual.get(at + i);
            }
            cosines.accept(cosine);
        }
        String range = String.format(Locale.ROOT, "%.4f to %.4f", cosines.getMin(), cosines.getMax());
        if (!(cosines.getMin() > 0.9)) {
            throw new IllegalStateException(impl + ": cosines to ours from " + range);
        }
        System.out.println(impl + ", " + texts + ": cosines to f32 vectors from " + range);
    }

    private static void put(float[][] vectors, FloatBuffer to) {
        to.rewind();
        for (float[] vector : vectors) {
            to.put(vector);
        }
        to.rewind();
    }
}
