package io.multihead.fuzz;

import io.multihead.format.OnnxFile;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The smallest model with all files. An input has a few hundred bytes, and a run takes some microseconds. */
final class SmallModel {
    static final List<String> VOCABULARY = List.of(
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "ab", "##c", "c", "#", "!", "e", "\u4e00");

    private static final int DIM = 4;
    private static final int INNER = 6;
    private static final int POSITIONS = 8;

    private SmallModel() {}

    /** Returns the files of a folder of sentence-transformers by name. */
    static Map<String, byte[]> files() {
        Map<String, byte[]> files = new LinkedHashMap<>();
        put(files, "config.json", """
                {"model_type": "bert", "hidden_act": "gelu", "hidden_size": 4, "num_hidden_layers": 1,
                 "num_attention_heads": 2, "intermediate_size": 6, "vocab_size": 14, "max_position_embeddings": 8,
                 "type_vocab_size": 2, "layer_norm_eps": 1e-7, "position_embedding_type": "absolute"}
                """);
        put(files, "modules.json", """
                [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                 {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                 {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
                """);
        put(files, "1_Pooling/config.json", """
                {"word_embedding_dimension": 4, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
                 "pooling_mode_max_tokens": false, "include_prompt": true}
                """);
        put(files, "sentence_bert_config.json", """
                {"max_seq_length": 6, "do_lower_case": false}
                """);
        put(files, "config_sentence_transformers.json", """
                {"prompts": {"query": "a: ", "document": "b"}, "default_prompt_name": "query"}
                """);
        files.put("vocab.txt", vocabularyTxt());
        files.put("model.safetensors", safetensors(weights(), Map.of("format", "pt")));
        return files;
    }

    /** Returns the files of the folder of a cross-encoder, as sentence-transformers writes it. */
    static Map<String, byte[]> rerankerFiles() {
        Map<String, byte[]> files = files();
        files.remove("1_Pooling/config.json");
        String config = new String(files.get("config.json"), StandardCharsets.UTF_8).strip();
        put(
                files,
                "config.json",
                "{\"architectures\": [\"BertForSequenceClassification\"], \"id2label\": {\"0\": \"a\"}, "
                        + "\"sbert_ce_default_activation_function\": \"torch.nn.modules.linear.Identity\", "
                        + config.substring(1));
        put(files, "modules.json", """
                [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
                """);
        put(files, "sentence_bert_config.json", """
                {"max_seq_length": 7, "transformer_task": "sequence-classification", "module_output_name": "scores"}
                """);
        put(files, "config_sentence_transformers.json", """
                {"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.activation.Sigmoid", "prompts": {}}
                """);
        put(files, "tokenizer_config.json", "{\"model_max_length\": 8}");
        Map<String, Tensor> weights = weights();
        put(weights, "pooler.dense.weight", DIM, DIM);
        put(weights, "pooler.dense.bias", DIM);
        put(weights, "classifier.weight", 1, DIM);
        put(weights, "classifier.bias", 1);
        files.put("model.safetensors", safetensors(weights, Map.of("format", "pt")));
        return files;
    }

    /** Returns the files of a folder of PyLate. */
    static Map<String, byte[]> tokenEncoderFiles() {
        Map<String, byte[]> files = files();
        files.remove("1_Pooling/config.json");
        files.remove("sentence_bert_config.json");
        put(files, "modules.json", """
                [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                 {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}]
                """);
        put(files, "1_Dense/config.json", """
                {"in_features": 4, "out_features": 3, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"}
                """);
        put(files, "config_sentence_transformers.json", """
                {"query_prefix": "a", "document_prefix": "", "query_length": 7, "document_length": 8,
                 "attend_to_expansion_tokens": false, "do_query_expansion": true, "skiplist_words": ["!", "#"]}
                """);
        Map<String, Tensor> weights = new LinkedHashMap<>();
        put(weights, "linear.weight", 3, DIM);
        files.put("1_Dense/model.safetensors", safetensors(weights, Map.of("format", "pt")));
        return files;
    }

    private static void put(Map<String, byte[]> files, String name, String text) {
        files.put(name, text.getBytes(StandardCharsets.UTF_8));
    }

    static byte[] vocabularyTxt() {
        return String.join("\n", VOCABULARY).getBytes(StandardCharsets.UTF_8);
    }

    static byte[] tokenizerConfig() {
        return "{\"do_lower_case\": true, \"strip_accents\": null, \"tokenize_chinese_chars\": true}"
                .getBytes(StandardCharsets.UTF_8);
    }

    static byte[] tokenizerJson() {
        String vocabulary = IntStream.range(0, VOCABULARY.size())
                .mapToObj(id -> "\"" + VOCABULARY.get(id) + "\": " + id)
                .collect(Collectors.joining(", "));
        return """
                {"truncation": {"max_length": 8}, "added_tokens": [{"id": 1, "content": "[UNK]", "normalized": false}],
                 "normalizer": {"type": "BertNormalizer", "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"},
                 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]"}},
                  {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}]},
                 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {%s}}}
                """.formatted(vocabulary).getBytes(StandardCharsets.UTF_8);
    }

    /** Returns the model in the form of PyTorch's exporter. */
    static byte[] onnx() {
        Map<String, Float> constants = new LinkedHashMap<>();
        for (String add : List.of(
                "/embeddings/LayerNorm/Add",
                "/encoder/layer.0/attention/output/LayerNorm/Add",
                "/encoder/layer.0/output/LayerNorm/Add")) {
            constants.put(add, 1e-7f);
        }
        constants.put("/encoder/layer.0/attention/self/Div", (float) Math.sqrt(2));
        return OnnxFile.bert(weights(), constants, "Erf");
    }

    static byte[] safetensors(Map<String, Tensor> tensors, Map<String, String> metadata) {
        try {
            Path file = Files.createTempFile("multihead-fuzz", ".safetensors");
            try {
                Safetensors.write(file, tensors, metadata);
                return Files.readAllBytes(file);
            } finally {
                Files.delete(file);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static Map<String, Tensor> weights() {
        Map<String, Tensor> weights = new LinkedHashMap<>();
        put(weights, "embeddings.word_embeddings.weight", VOCABULARY.size(), DIM);
        put(weights, "embeddings.position_embeddings.weight", POSITIONS, DIM);
        put(weights, "embeddings.token_type_embeddings.weight", 2, DIM);
        norm(weights, "embeddings.LayerNorm");
        String layer = "encoder.layer.0.";
        for (String name : List.of("self.query", "self.key", "self.value", "output.dense")) {
            put(weights, layer + "attention." + name + ".weight", DIM, DIM);
            put(weights, layer + "attention." + name + ".bias", DIM);
        }
        put(weights, layer + "intermediate.dense.weight", INNER, DIM);
        put(weights, layer + "intermediate.dense.bias", INNER);
        put(weights, layer + "output.dense.weight", DIM, INNER);
        put(weights, layer + "output.dense.bias", DIM);
        norm(weights, layer + "attention.output.LayerNorm");
        norm(weights, layer + "output.LayerNorm");
        return weights;
    }

    private static void norm(Map<String, Tensor> weights, String name) {
        put(weights, name + ".weight", DIM);
        put(weights, name + ".bias", DIM);
    }

    private static void put(Map<String, Tensor> weights, String name, long... dims) {
        int elements = (int) io.multihead.tensor.Shape.of(dims).elements();
        float[] values = new float[elements];
        for (int i = 0; i < elements; i++) {
            values[i] = (i * 7 % 11 - 5) / 8f;
        }
        weights.put(name, Tensor.of(values, dims));
    }
}
