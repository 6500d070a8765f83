package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceLinear;
import io.multihead.reference.ReferenceNorm;
import io.multihead.reference.ReferenceSoftmax;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** A small nomic BERT with random weights, with or without biases, and its vectors in plain loops in double. */
final class TinyNomicBert {
    static final int DIM = 24;
    private static final int HEADS = 3;
    private static final int HEAD_DIM = DIM / HEADS;
    /** The number of inner elements. The configuration has 40, which the reference rounds up. */
    private static final int INNER = 256;

    private static final double EPSILON = 1e-7;

    private final Map<String, Tensor> weights = new LinkedHashMap<>();
    private final boolean biases;

    TinyNomicBert(long seed, boolean biases) {
        this.biases = biases;
        SplittableRandom random = new SplittableRandom(seed);
        TinyModel.put(weights, random, "embeddings.word_embeddings.weight", 64, DIM);
        TinyModel.put(weights, random, "embeddings.token_type_embeddings.weight", 2, DIM);
        put(random, true, "emb_ln", DIM);
        for (int layer = 0; layer < 2; layer++) {
            String name = "encoder.layers." + layer + ".";
            put(random, biases, name + "attn.Wqkv", 3 * DIM, DIM);
            put(random, biases, name + "attn.out_proj", DIM, DIM);
            put(random, true, name + "norm1", DIM);
            put(random, biases, name + "mlp.fc11", INNER, DIM);
            put(random, biases, name + "mlp.fc12", INNER, DIM);
            put(random, biases, name + "mlp.fc2", DIM, INNER);
            put(random, true, name + "norm2", DIM);
        }
    }

    private void put(SplittableRandom random, boolean bias, String name, long... dims) {
        TinyModel.put(weights, random, name + ".weight", dims);
        if (bias) {
            TinyModel.put(weights, random, name + ".bias", dims[0]);
        }
    }

    /**
     * Returns the configuration. Without biases it has SwiGLU and rotations that pair halves of a head, with biases GeGLU and rotations of
     * adjacent elements.
     */
    String config() {
        return """
                {"model_type": "nomic_bert", "n_embd": 24, "n_layer": 2, "n_head": 3, "n_inner": 40, "vocab_size": 60,
                 "pad_vocab_size_multiple": 64, "n_positions": 24, "type_vocab_size": 2, "layer_norm_epsilon": 1e-7,
                 "activation_function": "%s", "prenorm": false, "rotary_emb_fraction": 1.0, "rotary_emb_base": 50,
                 "rotary_scaling_factor": null, "rotary_emb_interleaved": %2$b, "qkv_proj_bias": %2$b, "mlp_fc1_bias": %2$b,
                 "mlp_fc2_bias": %2$b}
                """.formatted(biases ? "geglu" : "swiglu", biases);
    }

    Map<String, Tensor> weights() {
        return weights;
    }

    /** Writes the folder as sentence-transformers does. */
    Path write(Path folder) throws IOException {
        TinyModel.write(folder, weights);
        Files.writeString(folder.resolve("config.json"), config());
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 24}");
        return folder;
    }

    /** Writes the folder of a cross-encoder, as transformers does. */
    Path writeReranker(Path folder) throws IOException {
        SplittableRandom random = new SplittableRandom(99);
        put(random, true, "pooler.dense", DIM, DIM);
        put(random, true, "classifier", 1, DIM);
        write(folder);
        for (String file : List.of("modules.json", "sentence_bert_config.json")) {
            Files.delete(folder.resolve(file));
        }
        Files.writeString(
                folder.resolve("config.json"),
                "{\"architectures\": [\"NomicBertForSequenceClassification\"], \"id2label\": {\"0\": \"LABEL_0\"}, "
                        + config().strip().substring(1));
        Map<String, Tensor> named = new LinkedHashMap<>();
        weights.forEach((name, weight) -> named.put(name.startsWith("classifier") ? name : "bert." + name, weight));
        Safetensors.write(folder.resolve("model.safetensors"), named, Map.of("format", "pt"));
        return folder;
    }

    double[][] states(int[] ids, int[] types) {
        double[] words = values("embeddings.word_embeddings.weight");
        double[] rows = values("embeddings.token_type_embeddings.weight");
        double[][] x = new double[ids.length][];
        for (int t = 0; t < ids.length; t++) {
            double[] word = Arrays.copyOfRange(words, ids[t] * DIM, (ids[t] + 1) * DIM);
            x[t] = norm("emb_ln", Numbers.sum(word, Arrays.copyOfRange(rows, types[t] * DIM, (types[t] + 1) * DIM)));
        }
        for (int layer = 0; layer < 2; layer++) {
            String name = "encoder.layers." + layer + ".";
            double[][] context = attention(name + "attn.Wqkv", x);
            for (int t = 0; t < x.length; t++) {
                double[] middle = norm(name + "norm1", Numbers.sum(x[t], linear(name + "attn.out_proj", context[t])));
                double[] up = linear(name + "mlp.fc11", middle);
                double[] gate = linear(name + "mlp.fc12", middle);
                for (int i = 0; i < INNER; i++) {
                    up[i] *= biases ? ReferenceActivation.gelu(gate[i]) : ReferenceActivation.silu(gate[i]);
                }
                x[t] = norm(name + "norm2", Numbers.sum(middle, linear(name + "mlp.fc2", up)));
            }
        }
        return x;
    }

    private double[][] attention(String projection, double[][] x) {
        double[][] all = Arrays.stream(x).map(row -> linear(projection, row)).toArray(double[][]::new);
        double[][] context = new double[x.length][DIM];
        for (int head = 0; head < HEADS; head++) {
            for (int t = 0; t < x.length; t++) {
                double[] scores = new double[x.length];
                double[] query = rotated(all[t], head * HEAD_DIM, t);
                for (int key = 0; key < x.length; key++) {
                    double[] other = rotated(all[key], DIM + head * HEAD_DIM, key);
                    for (int i = 0; i < HEAD_DIM; i++) {
                        scores[key] += query[i] * other[i] / Math.sqrt(HEAD_DIM);
                    }
                }
                double[] shares = ReferenceSoftmax.row(scores);
                for (int key = 0; key < x.length; key++) {
                    for (int i = head * HEAD_DIM; i < (head + 1) * HEAD_DIM; i++) {
                        context[t][i] += shares[key] * all[key][2 * DIM + i];
                    }
                }
            }
        }
        return context;
    }

    /** Rotates a head. Pairs are adjacent elements with biases, else elements of both halves of the head. */
    private double[] rotated(double[] row, int at, int position) {
        double[] result = new double[HEAD_DIM];
        for (int i = 0; i < HEAD_DIM / 2; i++) {
            int first = biases ? 2 * i : i;
            int second = biases ? 2 * i + 1 : i + HEAD_DIM / 2;
            double angle = position * Math.pow(50, -2.0 * i / HEAD_DIM);
            result[first] = row[at + first] * Math.cos(angle) - row[at + second] * Math.sin(angle);
            result[second] = row[at + second] * Math.cos(angle) + row[at + first] * Math.sin(angle);
        }
        return result;
    }

    /** Returns the output of the head of a cross-encoder. */
    double logit(int[] ids, int[] types) {
        double[] pooled = linear("pooler.dense", states(ids, types)[0]);
        return linear("classifier", Arrays.stream(pooled).map(Math::tanh).toArray())[0];
    }

    private double[] linear(String name, double[] x) {
        double[] weight = values(name + ".weight");
        double[] bias = weights.containsKey(name + ".bias") ? values(name + ".bias") : null;
        return ReferenceLinear.forward(x, weight, bias, weight.length / x.length, x.length);
    }

    private double[] norm(String name, double[] x) {
        return ReferenceNorm.forward(x, values(name + ".weight"), values(name + ".bias"), EPSILON, true);
    }

    private double[] values(String name) {
        return Numbers.of(weights.get(name));
    }
}
