package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/** {@link TinyModel} with a projection to 10 elements, as folders of PyLate and of ColBERT's authors and in double. */
final class TinyTokenModel {
    static final int DIMENSION = 10;
    static final int QUERY_TOKENS = 14;
    static final int DOCUMENT_TOKENS = 20;

    static final String MODULES = """
            [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
             {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}]
            """;

    static final String DENSE = """
            {"in_features": 21, "out_features": 10, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"}
            """;

    static final String SETTINGS = """
            {"query_prefix": "query", "document_prefix": "z", "query_length": 14, "document_length": 20,
             "attend_to_expansion_tokens": false, "do_query_expansion": true, "skiplist_words": ["a", "b"],
             "similarity_fn_name": "MaxSim", "prompts": {}, "default_prompt_name": null}
            """;

    private static final double U = 0x1p-24;

    private final Map<String, Tensor> weights;
    private final Map<String, Tensor> projection = new LinkedHashMap<>();

    TinyTokenModel(long seed) {
        weights = new TinyReranker(seed, 1).weights();
        weights.keySet().removeIf(name -> name.startsWith("pooler") || name.startsWith("classifier"));
        TinyModel.put(projection, new SplittableRandom(seed + 2000), "linear.weight", DIMENSION, TinyModel.DIM);
    }

    Path writePyLate(Path folder) throws IOException {
        Files.createDirectories(folder.resolve("1_Dense"));
        Files.writeString(folder.resolve("modules.json"), MODULES);
        Files.writeString(folder.resolve("1_Dense/config.json"), DENSE);
        Files.writeString(folder.resolve("config_sentence_transformers.json"), SETTINGS);
        Files.writeString(folder.resolve("config.json"), TinyModel.CONFIG);
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", TinyModel.VOCABULARY));
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        Safetensors.write(folder.resolve("1_Dense/model.safetensors"), projection, Map.of("format", "pt"));
        return folder;
    }

    /**
     * Writes a folder of ColBERT's authors. Prefixes are tokens of the vocabulary, too. A colon is the only punctuation in the vocabulary,
     * so unknown tokens have no vectors.
     */
    Path writeAuthors(Path folder) throws IOException {
        Files.createDirectories(folder);
        Files.writeString(
                folder.resolve("config.json"),
                "{\"architectures\": [\"HF_ColBERT\"], "
                        + TinyModel.CONFIG.strip().substring(1));
        Files.writeString(
                folder.resolve("artifact.metadata"),
                "{\"query_token_id\": \"query\", \"doc_token_id\": \"z\", \"query_maxlen\": 14, \"doc_maxlen\": 20, "
                        + "\"attend_to_mask_tokens\": false, \"dim\": 10}");
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", TinyModel.VOCABULARY));
        Map<String, Tensor> all = new LinkedHashMap<>(projection);
        weights.forEach((name, weight) -> all.put("bert." + name, weight));
        Safetensors.write(folder.resolve("model.safetensors"), all, Map.of("format", "pt"));
        return folder;
    }

    /** Vectors of length 1, and the bounds of the errors of their elements in f32. */
    @SuppressWarnings("ArrayRecordComponent")
    record Expected(double[][] vectors, double[] bounds) {}

    /**
     * Computes the vectors of a sequence in which all tokens see the first {@code keys} tokens. A state in f32 has an error of at most E
     * ({@link SentenceEncoderTest#TOLERANCE}). A projected element has an error e of sum |w| E and the roundings of sum |w x|. Divided by
     * the length n, an element x / n has an error of e / n, an error from n of at most sqrt(dimension) e / n, because x / n <= 1, and is
     * rounded once.
     */
    Expected expected(int[] ids, int keys) {
        double[][] states = new ReferenceEncoder(weights).states(ids, keys);
        float[] weight = projection.get("linear.weight").toArray();
        double[][] vectors = new double[ids.length][DIMENSION];
        double[] bounds = new double[ids.length];
        for (int token = 0; token < ids.length; token++) {
            double largest = 1;
            for (double x : states[token]) {
                largest = Math.max(largest, Math.abs(x));
            }
            double squares = 0;
            double worst = 0;
            for (int i = 0; i < DIMENSION; i++) {
                double error = 0;
                for (int j = 0; j < TinyModel.DIM; j++) {
                    double product = weight[i * TinyModel.DIM + j] * states[token][j];
                    vectors[token][i] += product;
                    error += Math.abs(weight[i * TinyModel.DIM + j]) * SentenceEncoderTest.TOLERANCE * largest
                            + (TinyModel.DIM + 1) * U * Math.abs(product);
                }
                squares += vectors[token][i] * vectors[token][i];
                worst = Math.max(worst, error);
            }
            double norm = Math.sqrt(squares);
            for (int i = 0; i < DIMENSION; i++) {
                vectors[token][i] /= norm;
            }
            bounds[token] = (1 + Math.sqrt(DIMENSION)) * worst / norm + U;
        }
        return new Expected(vectors, bounds);
    }
}
