package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Published forms of checkpoints, with older names, with an encoder as a part of a larger model, and with several files. */
class CheckpointTest extends TinyModelFolder {
    private static final float[] ONE = {1};

    private static Map<String, Tensor> renamed(UnaryOperator<String> change) {
        Map<String, Tensor> weights = new LinkedHashMap<>();
        TinyModel.weights(1).forEach((name, tensor) -> weights.put(change.apply(name), tensor));
        return weights;
    }

    private void write(String file, Map<String, Tensor> weights) throws IOException {
        Safetensors.write(folder.resolve(file), weights, Map.of("format", "pt"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "bert.", "model."})
    void anEncoderIsFoundInALargerModel(String prefix) throws IOException {
        float[] expected = embed("abc de");
        Map<String, Tensor> weights = renamed(name -> prefix
                + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"));
        List<String> others =
                new ArrayList<>(List.of("cls.predictions.bias", "cls.seq_relationship.weight", "classifier.bias"));
        others.addAll(List.of(prefix + "embeddings.position_ids", prefix + "pooler.dense.bias", "qa_outputs.bias"));
        others.forEach(name -> weights.put(name, Tensor.of(ONE)));
        if (!prefix.isEmpty()) {
            weights.put("linear.weight", Tensor.of(ONE)); // a projection that transformers ignores
        }
        write("model.safetensors", weights);
        assertArrayEquals(expected, embed("abc de"));
    }

    /** transformers ignores these weights with a warning, although their names belong to an encoder. */
    @ParameterizedTest
    @CsvSource({
        "'', extra.weight", "'', encoder.layer.2.output.dense.bias", "bert., bert.encoder.layer.2.output.dense.bias",
        "bert., encoder.layer.2.output.dense.bias", "bert., bert.embeddings.extra", "'', gamma"
    })
    void aWeightOfNoUseIsNamed(String prefix, String name) throws IOException {
        Map<String, Tensor> weights = renamed(plain -> prefix + plain);
        weights.put(name, Tensor.of(ONE));
        write("model.safetensors", weights);
        assertFails("model.safetensors: tensors: 1 of no use, such as " + name + "; expected none");
    }

    @Test
    void whatIsNotOneEncoderIsNamed() throws IOException {
        Map<String, Tensor> two = renamed(name -> "bert." + name);
        two.putAll(TinyModel.weights(1));
        write("model.safetensors", two);
        assertFails(
                "model.safetensors: weights: [bert.embeddings.word_embeddings.weight, embeddings.word_embeddings.weight];"
                        + " expected the weights of one encoder");
        write("model.safetensors", renamed(name -> "distilbert." + name));
        assertFails(
                "model.safetensors: tensor \"distilbert.embeddings.word_embeddings.weight\": begins with distilbert.;"
                        + " expected one of [, bert., roberta., model.]");
        Map<String, Tensor> twice = TinyModel.weights(1);
        twice.put("embeddings.LayerNorm.gamma", Tensor.of(ONE));
        write("model.safetensors", twice);
        assertFails("both embeddings.LayerNorm.weight and embeddings.LayerNorm.gamma; expected one of them");
        write("model.safetensors", Map.of("a", Tensor.of(ONE)));
        assertFails("tensor \"embeddings.word_embeddings.weight\": not in the file; expected it beside [a]");
    }

    /** Writes every third weight to each of three files. */
    private String shards() throws IOException {
        List<Map<String, Tensor>> parts = List.of(new LinkedHashMap<>(), new LinkedHashMap<>(), new LinkedHashMap<>());
        StringJoiner index = new StringJoiner(", ", "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {", "}}");
        int number = 0;
        for (Map.Entry<String, Tensor> weight : TinyModel.weights(1).entrySet()) {
            parts.get(number % 3).put("bert." + weight.getKey(), weight.getValue());
            index.add("\"bert." + weight.getKey() + "\": \"part-" + number++ % 3 + "\"");
        }
        for (int i = 0; i < 3; i++) {
            write("part-" + i, parts.get(i));
        }
        Files.delete(folder.resolve("model.safetensors"));
        Files.writeString(folder.resolve("model.safetensors.index.json"), index.toString());
        return index.toString();
    }

    @Test
    void aModelMayBeInSeveralFiles() throws IOException {
        float[] expected = embed("abc de");
        long mapped;
        try (SentenceEncoder encoder = load()) {
            mapped = encoder.mappedBytes();
        }
        shards();
        try (SentenceEncoder encoder = load()) {
            assertArrayEquals(expected, encoder.embed("abc de"));
            assertEquals(mapped, encoder.mappedBytes());
        }
        // a single file takes precedence, as in transformers
        TinyModel.write(folder);
        Files.delete(folder.resolve("part-0"));
        assertArrayEquals(expected, embed("abc de"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"part-1\" | \"../part-1\" | index.weight_map: ../part-1; expected a file in the folder of the index",
                "\"part-1\" | \"/part-1\" | index.weight_map: /part-1; expected a file in the folder of the index",
                "\"part-1\" | \"\" | index.weight_map: \"\"; expected a file in the folder of the index",
                "\"part-1\" | \"..\" | index.weight_map: ..; expected a file in the folder of the index",
                "\"part-1\" | \"a\\u0000\" | expected a file in the folder of the index",
                "\"part-1\" | \"part-2\" | not in part-2; expected the tensor in this file",
                "\"part-1\" | 1 | index.weight_map.bert.embeddings.position_embeddings.weight: 1; expected a string",
                "weight_map | weights | index.weight_map: null; expected an object",
                "{\"metadata\" | \"metadata\" | index: malformed at character 0; expected '{'",
            })
    void anIndexThatIsWrongIsNamed(String part, String instead, String message) throws IOException {
        Files.writeString(
                folder.resolve("model.safetensors.index.json"),
                shards().replaceFirst(
                                java.util.regex.Pattern.quote(part),
                                java.util.regex.Matcher.quoteReplacement(instead)));
        assertFails("model.safetensors.index.json: ");
        assertFails(message);
    }

    @Test
    void aMissingFileIsNamed() throws IOException {
        shards();
        Files.delete(folder.resolve("part-1"));
        String missing = assertThrows(NoSuchFileException.class, this::load).getMessage();
        assertTrue(missing.startsWith(folder.resolve("part-1") + ": nothing there, in "), missing);
        Files.delete(folder.resolve("model.safetensors.index.json"));
        missing = assertThrows(NoSuchFileException.class, this::load).getMessage();
        assertTrue(
                missing.contains(", no model.safetensors or model.safetensors.index.json; expected weights"), missing);
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(folder.toString()), wrong.getMessage());
    }
}
