package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import io.multihead.text.UnigramFixture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** {@link TinyModel} as XLM-R, with two additional rows of positions, one token type, and a Unigram tokenizer. */
final class TinyXlmR {
    /** The number of rows before the row of the first position. */
    static final int FIRST = 2;

    private static final String POSITIONS = "embeddings.position_embeddings.weight";
    private static final String TYPES = "embeddings.token_type_embeddings.weight";

    private TinyXlmR() {}

    static String config(int padding) {
        int rows = padding + 1 + TinyModel.POSITIONS;
        return TinyModel.CONFIG
                .replace("\"bert\"", "\"xlm-roberta\", \"pad_token_id\": " + padding)
                .replace("embeddings\": 24", "embeddings\": " + rows)
                .replace("type_vocab_size\": 2", "type_vocab_size\": 1");
    }

    /** Returns a tokenizer with XLM-R's first tokens, and letters alone and at the beginning of a word. */
    static String tokenizer() {
        List<String> pieces = new ArrayList<>(List.of("<s>", "<pad>", "</s>", "<unk>", "\u2581"));
        for (char letter = 'a'; letter <= 'z'; letter++) {
            pieces.add(String.valueOf(letter));
            pieces.add("\u2581" + letter);
        }
        double[] scores = UnigramFixture.scores(pieces.size());
        return UnigramFixture.json("null", UnigramFixture.metaspace(""), pieces, scores, false);
    }

    /** Returns random weights by name, without the prefix of the encoder. */
    static Map<String, Tensor> weights(long seed, int first) {
        Map<String, Tensor> weights = new LinkedHashMap<>(TinyModel.weights(seed));
        SplittableRandom random = new SplittableRandom(seed + 2000);
        TinyModel.put(weights, random, POSITIONS, first + TinyModel.POSITIONS, TinyModel.DIM);
        TinyModel.put(weights, random, TYPES, 1, TinyModel.DIM);
        return weights;
    }

    /** Returns the weights for the reference, which reads positions from row 0. */
    static Map<String, Tensor> shifted(Map<String, Tensor> weights, int first) {
        Map<String, Tensor> shifted = new LinkedHashMap<>(weights);
        Tensor rows = weights.get(POSITIONS).slice(0, first, first + TinyModel.POSITIONS);
        shifted.put(POSITIONS, Tensor.of(rows.toArray(), rows.shape().toArray()));
        return shifted;
    }

    /**
     * Returns random weights, including weights of a head. The first token attends to all tokens, so that a wrong token changes its state.
     */
    static Map<String, Tensor> classifier(long seed, int first) {
        Map<String, Tensor> weights = weights(seed, first);
        weights.replaceAll((name, weight) -> name.endsWith("query.weight") ? times(0.1f, weight) : weight);
        weights.replaceAll((name, weight) -> name.endsWith("value.weight") ? times(6, weight) : weight);
        SplittableRandom random = new SplittableRandom(seed + 2);
        TinyModel.put(weights, random, "classifier.dense.weight", TinyModel.DIM, TinyModel.DIM);
        TinyModel.put(weights, random, "classifier.dense.bias", TinyModel.DIM);
        TinyModel.put(weights, random, "classifier.out_proj.weight", 1, TinyModel.DIM);
        TinyModel.put(weights, random, "classifier.out_proj.bias", 1);
        return weights;
    }

    private static Tensor times(float factor, Tensor weight) {
        float[] values = weight.toArray();
        for (int i = 0; i < values.length; i++) {
            values[i] *= factor;
        }
        return Tensor.of(values, weight.shape().toArray());
    }

    /** Writes the folder of a cross-encoder. The row of the padding token precedes the row of the first position. */
    static Path writeClassifier(Path folder, Map<String, Tensor> weights) throws IOException {
        write(folder, weights, FIRST - 1);
        Files.delete(folder.resolve("modules.json"));
        Files.writeString(
                folder.resolve("config.json"),
                "{\"architectures\": [\"XLMRobertaForSequenceClassification\"], \"id2label\": {\"0\": \"LABEL_0\"}, "
                        + config(FIRST - 1).strip().substring(1));
        return folder;
    }

    /** Writes the folder as transformers does, including the head of a masked language model and a pooler, which vectors do not use. */
    static Path write(Path folder, Map<String, Tensor> weights, int padding) throws IOException {
        TinyModel.write(folder);
        Files.delete(folder.resolve("vocab.txt"));
        Files.writeString(folder.resolve("config.json"), config(padding));
        Files.writeString(folder.resolve("tokenizer.json"), tokenizer());
        Files.writeString(folder.resolve("tokenizer_config.json"), """
                {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "model_max_length": 512}""");
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": null}");
        Map<String, Tensor> named = new LinkedHashMap<>();
        weights.forEach((name, weight) -> named.put(name.startsWith("classifier") ? name : "roberta." + name, weight));
        named.put("roberta.pooler.dense.bias", Tensor.of(new float[TinyModel.DIM]));
        named.put("lm_head.bias", Tensor.of(new float[60]));
        Safetensors.write(folder.resolve("model.safetensors"), named, Map.of("format", "pt"));
        return folder;
    }
}
