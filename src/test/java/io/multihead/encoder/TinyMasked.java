package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceLinear;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/** {@link TinyModel} with the head of a masked language model, as a folder of sentence-transformers' SparseEncoder and in double. */
public final class TinyMasked {
    static final String MODULES = """
            [{"idx": 0, "path": "", "type": "sentence_transformers.sparse_encoder.models.MLMTransformer"},
             {"idx": 1, "path": "1_SpladePooling", "type": "sentence_transformers.sparse_encoder.models.SpladePooling"}]
            """;

    private static final double U = 0x1p-24;
    private static final int DIM = TinyModel.DIM;
    private static final int WORDS = 60;

    private final boolean tied;
    private final Map<String, Tensor> encoder;
    private final Map<String, Tensor> head = new LinkedHashMap<>();

    public TinyMasked(long seed, boolean tied) {
        this.tied = tied;
        encoder = TinyModel.weights(seed);
        SplittableRandom random = new SplittableRandom(seed + 3000);
        TinyModel.put(head, random, "transform.dense.weight", DIM, DIM);
        TinyModel.put(head, random, "transform.dense.bias", DIM);
        TinyModel.put(head, random, "transform.LayerNorm.weight", DIM);
        TinyModel.put(head, random, "transform.LayerNorm.bias", DIM);
        TinyModel.put(head, random, "bias", WORDS);
        TinyModel.put(head, random, "decoder.weight", WORDS, DIM);
    }

    /** Returns the weights with the names of transformers, without a decoder if it is the table of word embeddings. */
    Map<String, Tensor> weights() {
        Map<String, Tensor> all = new LinkedHashMap<>();
        encoder.forEach((name, weight) -> all.put("bert." + name, weight));
        head.forEach((name, weight) -> all.put("cls.predictions." + name, weight));
        if (tied) {
            all.remove("cls.predictions.decoder.weight");
        }
        return all;
    }

    String config() {
        return "{\"architectures\": [\"BertForMaskedLM\"], \"tie_word_embeddings\": " + tied + ", "
                + TinyModel.CONFIG.strip().substring(1);
    }

    /** Writes a folder in the form of transformers. */
    public Path writePlain(Path folder) throws IOException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("config.json"), config());
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", TinyModel.VOCABULARY));
        Safetensors.write(folder.resolve("model.safetensors"), weights(), Map.of("format", "pt"));
        return folder;
    }

    Path write(Path folder) throws IOException {
        return write(folder, weights());
    }

    Path write(Path folder, Map<String, Tensor> weights) throws IOException {
        Files.createDirectories(folder.resolve("1_SpladePooling"));
        Files.writeString(folder.resolve("modules.json"), MODULES);
        Files.writeString(
                folder.resolve("1_SpladePooling/config.json"),
                "{\"pooling_strategy\": \"max\", \"activation_function\": \"relu\", \"word_embedding_dimension\": 60}");
        Files.writeString(
                folder.resolve("config_sentence_transformers.json"),
                "{\"model_type\": \"SparseEncoder\", \"prompts\": {\"query\": \"\", \"document\": \"\"},"
                        + " \"default_prompt_name\": null, \"similarity_fn_name\": \"dot\"}");
        Files.writeString(folder.resolve("config.json"), config());
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", TinyModel.VOCABULARY));
        Files.writeString(
                folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 12, \"do_lower_case\": false}");
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        return folder;
    }

    /** The largest logit of each word, and the bounds of their errors. */
    @SuppressWarnings("ArrayRecordComponent")
    record Expected(double[] logits, double[] bounds) {}

    /** Computes the largest logits of a sequence. */
    Expected expected(int[] ids) {
        double[][] states = new ReferenceEncoder(encoder).states(ids, new int[ids.length]);
        double[] largest = new double[WORDS];
        double[] bounds = new double[WORDS];
        Arrays.fill(largest, Double.NEGATIVE_INFINITY);
        for (double[] state : states) {
            double most = 1;
            for (double x : state) {
                most = Math.max(most, Math.abs(x));
            }
            logits(state, SentenceEncoderTest.TOLERANCE * most, largest, bounds);
        }
        return new Expected(largest, bounds);
    }

    /**
     * Updates the largest logits and their bounds with the logits of one state. A product has an error of e sum |w| and (n + 1) u sum |w
     * x|. GELU has 1.13 times the error of its input, and 16 u. A centered element has an error of at most 2 e and the deviation d an error
     * of e, so their quotient q has an error of (2 + |q|) e / d.
     */
    private void logits(double[] state, double error, double[] largest, double[] bounds) {
        double[] weight = values("transform.dense.weight");
        double[] x = ReferenceLinear.forward(state, weight, values("transform.dense.bias"), DIM, DIM);
        double e = 0;
        for (int i = 0; i < DIM; i++) {
            e = Math.max(e, 1.13 * productError(weight, i, state, error, x[i]) + 16 * U * Math.max(1, Math.abs(x[i])));
            x[i] = ReferenceActivation.gelu(x[i]);
        }
        double mean = 0;
        for (double value : x) {
            mean += value / DIM;
        }
        double squares = TinyModel.EPSILON;
        for (double value : x) {
            squares += (value - mean) * (value - mean) / DIM;
        }
        double deviation = Math.sqrt(squares);
        double[] y = new double[DIM];
        double normError = 0;
        for (int i = 0; i < DIM; i++) {
            double quotient = (x[i] - mean) / deviation;
            double scale = values("transform.LayerNorm.weight")[i];
            y[i] = quotient * scale + values("transform.LayerNorm.bias")[i];
            normError = Math.max(
                    normError, Math.abs(scale) * (2 + Math.abs(quotient)) * e / deviation + U * Math.abs(y[i]));
        }
        double[] decoder = tied ? floats(encoder.get("embeddings.word_embeddings.weight")) : values("decoder.weight");
        double[] logits = ReferenceLinear.forward(y, decoder, values("bias"), WORDS, DIM);
        for (int word = 0; word < WORDS; word++) {
            largest[word] = Math.max(largest[word], logits[word]);
            bounds[word] = Math.max(bounds[word], productError(decoder, word, y, normError, logits[word]));
        }
    }

    private static double productError(double[] weight, int row, double[] x, double error, double result) {
        double sum = U * Math.abs(result);
        for (int j = 0; j < DIM; j++) {
            double w = Math.abs(weight[row * DIM + j]);
            sum += w * error + (DIM + 1) * U * w * Math.abs(x[j]);
        }
        return sum;
    }

    private double[] values(String name) {
        return floats(head.get(name));
    }

    private static double[] floats(Tensor tensor) {
        float[] values = tensor.toArray();
        double[] result = new double[values.length];
        for (int i = 0; i < result.length; i++) {
            result[i] = values[i];
        }
        return result;
    }
}
