package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.EncoderFamilies;
import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.encoder.load.EncoderModel;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.support.Golden;
import io.multihead.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Vectors and logits of encoders with random weights equal those that ONNX Runtime computed ({@code src/it/golden}). */
class GoldenEncoderTest {
    /**
     * In each of 22 layers, both sides round sums of 128 and 192 products in different orders. Elements of up to 4 would differ by 4 x 22 x
     * 2 x 192 x 2^-24 = 2e-3 if all roundings had the same sign. With random signs they add up as the square root of their number, which
     * gives 2e-5. A reach with an error of one, or a base with an error of a twentieth, changes elements by 0.1 or more.
     */
    private static final double TOLERANCE = 2e-5;

    private static final String MODERNBERT = """
            {"model_type": "modernbert", "hidden_size": 128, "num_hidden_layers": 22, "num_attention_heads": 2,
             "intermediate_size": 192, "vocab_size": 300, "classifier_pooling": "cls"}
            """;

    private static final String NOMICBERT = """
            {"model_type": "nomic_bert", "n_embd": 128, "n_layer": 12, "n_head": 2, "n_inner": 512, "vocab_size": 300,
             "n_positions": 2048, "type_vocab_size": 2, "layer_norm_epsilon": 1e-12, "activation_function": "swiglu",
             "rotary_emb_fraction": 1.0, "rotary_emb_base": 1000, "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false}
            """;

    private static JsonObject config(String json) {
        return new JsonObject("config", Json.object("config", json.getBytes(StandardCharsets.UTF_8)));
    }

    private static Weights weights(GoldenEncoder encoder, boolean withHead) {
        Map<String, GoldenGraph.Weight> all = encoder.weights();
        Set<String> names = new HashSet<>(all.keySet());
        names.removeIf(name -> !withHead && (name.startsWith("head.") || name.startsWith("classifier.")));
        Map<String, Tensor> tensors = new HashMap<>();
        for (String name : names) {
            GoldenGraph.Weight weight = all.get(name);
            long[] dims = new long[weight.dims().length];
            for (int i = 0; i < dims.length; i++) {
                dims[i] = weight.dims()[i];
            }
            tensors.put(name, Tensor.of(weight.values(), dims));
        }
        return new Weights(Loading.of(Compute.serial()), WeightSource.of(tensors));
    }

    private static TokenBatch batch(GoldenEncoder encoder) {
        TokenBatch batch = TokenBatch.of(512);
        for (long[] ids : GoldenEncoder.texts()) {
            batch.begin();
            long[] types = GoldenEncoder.types(ids);
            for (int token = 0; token < ids.length; token++) {
                batch.add((int) ids[token], encoder.hasTypes() ? (int) types[token] : 0);
            }
        }
        return batch;
    }

    /** Returns the largest difference between elements of vectors and of ONNX Runtime's vectors. All texts are in one batch. */
    private static double worst(EncoderModel model, GoldenEncoder encoder, Tensor expected) {
        TokenBatch batch = batch(encoder);
        Buffers buffers = model.transformer.buffers(512);
        double worst = 0;
        int row = 0;
        try (Compute cpu = Compute.threads(2)) {
            model.transformer.forward(cpu, batch, buffers);
        }
        for (int text = 0; text < batch.sequences(); text++) {
            for (int token : GoldenEncoder.tokens(GoldenEncoder.texts()[text])) {
                for (int i = 0; i < GoldenEncoder.DIM; i++) {
                    double actual = buffers.states().get(batch.start(text) + token, i);
                    worst = Math.max(worst, Math.abs(actual - expected.get(row, i)));
                }
                row++;
            }
        }
        assertEquals(expected.dim(0), row);
        return worst;
    }

    private static EncoderModel model(String json, GoldenEncoder encoder) {
        return new EncoderModel(EncoderFamilies.configure(config(json)), weights(encoder, false));
    }

    @Test
    void vectorsOfModernBertAreThoseOfTheReference() {
        GoldenEncoder encoder = GoldenEncoder.modernBert();
        Tensor expected = Golden.open("encoder/modernbert").tensor("vectors");
        double worst = worst(model(MODERNBERT, encoder), encoder, expected);
        assertTrue(worst <= TOLERANCE, "differ by " + worst);
        for (String wrong : new String[] {
            "local_attention\": 126",
            "local_attention\": 130",
            "local_rope_theta\": 10500",
            "global_rope_theta\": 150000",
            "global_attn_every_n_layers\": 4"
        }) {
            String changed = MODERNBERT.replace("\"hidden_size", "\"" + wrong + ", \"hidden_size");
            double difference = worst(model(changed, encoder), encoder, expected);
            assertTrue(difference > 0.1, wrong + ": " + difference);
        }
    }

    /** Errors are smaller than with ModernBERT, because there are only 12 layers, and norms after each sublayer keep elements small. */
    @Test
    void vectorsOfNomicBertAreThoseOfTheReference() {
        GoldenEncoder encoder = GoldenEncoder.nomicBert();
        Tensor expected = Golden.open("encoder/nomicbert").tensor("vectors");
        double worst = worst(model(NOMICBERT, encoder), encoder, expected);
        assertTrue(worst <= TOLERANCE, "differ by " + worst);
        for (String wrong : new String[] {"geglu", "1100"}) {
            String changed = NOMICBERT.replace(wrong.equals("geglu") ? "swiglu" : "1000", wrong);
            double difference = worst(model(changed, encoder), encoder, expected);
            assertTrue(difference > 0.1, wrong + ": " + difference);
        }
    }

    /** The head pools by the state of the first token, or by the mean of all states. */
    @Test
    void logitsOfModernBertAreThoseOfTheReference() {
        GoldenEncoder encoder = GoldenEncoder.modernBert();
        Tensor expected = Golden.open("encoder/modernbert").tensor("logits");
        for (int pooling = 0; pooling < 2; pooling++) {
            EncoderConfig config =
                    EncoderFamilies.configure(config(MODERNBERT.replace("cls", pooling == 0 ? "cls" : "mean")));
            EncoderModel model = new EncoderModel(config, GoldenEncoder.LABELS, weights(encoder, true));
            double[] logits = logits(model, encoder);
            for (int text = 0; text < logits.length / GoldenEncoder.LABELS; text++) {
                for (int label = 0; label < GoldenEncoder.LABELS; label++) {
                    // sums of 128 products in the head have errors of both signs
                    assertEquals(
                            expected.get(2L * text + pooling, label),
                            logits[text * GoldenEncoder.LABELS + label],
                            2 * TOLERANCE,
                            "text " + text);
                }
            }
        }
    }

    private static double[] logits(EncoderModel model, GoldenEncoder encoder) {
        TokenBatch batch = batch(encoder);
        Buffers buffers = model.transformer.buffers(512);
        float[] rows = new float[batch.sequences() * GoldenEncoder.DIM];
        double[] buffer = new double[GoldenEncoder.DIM];
        double[] logits = new double[batch.sequences() * GoldenEncoder.LABELS];
        int[] read = batch.firstRows();
        try (Compute cpu = Compute.threads(2)) {
            model.transformer.forward(cpu, batch, buffers);
            if (model.head().ofMean()) {
                ClassificationHead.writeMeans(batch, buffers, buffer);
                read = new int[] {0, 1, 2};
            }
            model.transformer.logits(cpu, read, Tensor.of(rows, batch.sequences(), GoldenEncoder.DIM), buffers);
        }
        for (int text = 0; text < batch.sequences(); text++) {
            model.head().logits(rows, text * GoldenEncoder.DIM, buffer, logits, text * GoldenEncoder.LABELS);
        }
        return logits;
    }
}
