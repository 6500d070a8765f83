package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Folders of cross-encoders in the forms that versions of sentence-transformers write and read. */
class RerankerFolderTest {
    private static final TinyReranker MODEL = new TinyReranker(1, 1);
    private static final String MODULES =
            "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": \"sentence_transformers.base.modules.transformer.Transformer\"}]";
    private static final String FRAMEWORK = "config_sentence_transformers.json";

    @TempDir
    Path folder;

    @BeforeEach
    void write() throws IOException {
        MODEL.write(folder);
    }

    private Reranker load() throws IOException {
        return Reranker.load(Compute.serial(), folder);
    }

    private ScoreActivation activation() throws IOException {
        try (Reranker loaded = load()) {
            return loaded.activation();
        }
    }

    private void config(String more) throws IOException {
        Files.writeString(folder.resolve("config.json"), MODEL.config(more));
    }

    @ParameterizedTest
    @CsvSource({
        "torch.nn.modules.linear.Identity, IDENTITY",
        "torch.nn.Identity, IDENTITY",
        "torch.nn.modules.activation.Sigmoid, SIGMOID",
        "torch.nn.Sigmoid, SIGMOID"
    })
    void theConfigNamesWhatOutputsBecome(String name, ScoreActivation expected) throws IOException {
        config("\"sbert_ce_default_activation_function\": \"" + name + "\", ");
        assertEquals(expected, activation());
        config("\"sentence_transformers\": {\"activation_fn\": \"" + name + "\", \"version\": \"4.0.1\"}, ");
        assertEquals(expected, activation());
    }

    /** Version 4 ignores the older member if the newer one exists. */
    @Test
    void theNewerMemberOfTheConfigComesFirst() throws IOException {
        config("\"sentence_transformers\": {\"activation_fn\": \"torch.nn.modules.linear.Identity\"}, "
                + "\"sbert_ce_default_activation_function\": \"torch.nn.modules.activation.Sigmoid\", ");
        assertEquals(ScoreActivation.IDENTITY, activation());
        config("\"sentence_transformers\": {\"activation_fn\": null}, "
                + "\"sbert_ce_default_activation_function\": \"torch.nn.modules.linear.Identity\", ");
        assertEquals(ScoreActivation.SIGMOID, activation());
        config("\"sentence_transformers\": {\"version\": \"4.0.1\"}, "
                + "\"sbert_ce_default_activation_function\": \"torch.nn.modules.linear.Identity\", ");
        assertEquals(ScoreActivation.IDENTITY, activation());
    }

    @Test
    void otherFunctionsAreNamed() throws IOException {
        config("\"sbert_ce_default_activation_function\": \"torch.nn.modules.activation.Tanh\", ");
        assertFails("config.json: config.sbert_ce_default_activation_function: torch.nn.modules.activation.Tanh; "
                + "expected torch.nn.modules.linear.Identity or torch.nn.modules.activation.Sigmoid");
        config("\"sentence_transformers\": {\"activation_fn\": \"my.Own\"}, ");
        assertFails("config.json: config.sentence_transformers.activation_fn: my.Own; expected torch.nn");
    }

    /** The file of sentence-transformers counts only if there is a {@code modules.json}, and takes precedence over {@code config.json}. */
    @Test
    void aFolderMayHaveModules() throws IOException {
        config("\"sentence_transformers\": {\"activation_fn\": \"torch.nn.modules.activation.Sigmoid\"}, ");
        Files.writeString(
                folder.resolve(FRAMEWORK),
                "{\"model_type\": \"CrossEncoder\", \"activation_fn\": \"torch.nn.modules.linear.Identity\", "
                        + "\"default_prompt_name\": null, \"prompts\": {}}");
        assertEquals(ScoreActivation.SIGMOID, activation());
        Files.writeString(folder.resolve("modules.json"), MODULES);
        Files.writeString(
                folder.resolve("sentence_bert_config.json"),
                "{\"transformer_task\": \"sequence-classification\", \"module_output_name\": \"scores\", "
                        + "\"modality_config\": {\"text\": {\"method\": \"forward\", \"method_output_name\": \"logits\"}}, "
                        + "\"max_seq_length\": 11}");
        assertEquals(ScoreActivation.IDENTITY, activation());
        try (Reranker loaded = load()) {
            assertEquals(11, loaded.maxTokens());
        }
    }

    @Test
    void otherModulesAreNamed() throws IOException {
        Files.writeString(folder.resolve("modules.json"), MODULES);
        assertThrows(NoSuchFileException.class, this::load);
        Files.writeString(folder.resolve(FRAMEWORK), "{\"model_type\": \"SentenceTransformer\"}");
        assertFails(
                FRAMEWORK + ": config_sentence_transformers.model_type: SentenceTransformer; expected CrossEncoder");
        Files.writeString(
                folder.resolve(FRAMEWORK), "{\"model_type\": \"CrossEncoder\", \"default_prompt_name\": \"query\"}");
        assertFails(FRAMEWORK + ": config_sentence_transformers.default_prompt_name: query; expected null");
        Files.writeString(folder.resolve(FRAMEWORK), "{\"model_type\": \"CrossEncoder\"}");
        assertEquals(ScoreActivation.SIGMOID, activation());
        Files.writeString(
                folder.resolve("sentence_bert_config.json"), "{\"transformer_task\": \"feature-extraction\"}");
        assertFails("sentence_bert_config.json: sentence_bert_config.transformer_task: feature-extraction; expected "
                + "sequence-classification");
        Files.writeString(folder.resolve("modules.json"), TinyModel.MODULES);
        assertFails("modules.json: modules: 3 modules; expected a Transformer module alone");
        Files.writeString(folder.resolve("modules.json"), MODULES.replace("Transformer\"", "Dense\""));
        assertFails("modules.json: modules.type: sentence_transformers.base.modules.transformer.Dense; expected a");
        Files.writeString(folder.resolve("modules.json"), MODULES.replace("\"path\": \"\"", "\"path\": \"../other\""));
        assertFails("modules.json: modules.path: ../other; expected a path within the model's folder");
    }

    @Test
    void labelsAreThoseOfTheNames() throws IOException {
        Files.writeString(folder.resolve("config.json"), MODEL.config("\"num_labels\": 5, "));
        try (Reranker one = load()) {
            assertEquals(1, one.labels());
        }
        String two = MODEL.config("").replace("{\"0\": \"LABEL_0\"}", "{\"0\": \"no\", \"1\": \"yes\"}");
        Files.writeString(folder.resolve("config.json"), two);
        assertFails("model.safetensors: tensor \"classifier.weight\": ");
        Files.writeString(folder.resolve("config.json"), MODEL.config("").replace("{\"0\": \"LABEL_0\"}", "{}"));
        assertFails("config.json: config.id2label: {}; expected 1 to 65536 labels");
        Files.writeString(
                folder.resolve("config.json"), MODEL.config("").replace("\"id2label\": {\"0\": \"LABEL_0\"},", ""));
        assertFails("model.safetensors: tensor \"classifier.weight\": ");
        Files.writeString(
                folder.resolve("config.json"),
                MODEL.config("").replace("\"id2label\": {\"0\": \"LABEL_0\"},", "\"num_labels\": 1,"));
        assertEquals(ScoreActivation.SIGMOID, activation());
    }

    /** sentence-transformers gives a missing head one label and random weights. Here the head must be in the file. */
    @Test
    void anEncoderAloneLacksAHead() throws IOException {
        Files.writeString(folder.resolve("config.json"), TinyModel.CONFIG);
        assertEquals(ScoreActivation.SIGMOID, activation());
        Safetensors.write(folder.resolve("model.safetensors"), TinyModel.weights(1), Map.of("format", "pt"));
        assertFails("model.safetensors: tensor \"classifier.weight\": not in the file");
        Map<String, Tensor> named = new LinkedHashMap<>(MODEL.named());
        named.remove("bert.pooler.dense.bias");
        Safetensors.write(folder.resolve("model.safetensors"), named, Map.of("format", "pt"));
        assertFails("model.safetensors: tensor \"bert.pooler.dense.bias\": not in the file");
        named = new LinkedHashMap<>(MODEL.named());
        named.put("classifier.dense.weight", Tensor.of(new float[3]));
        Safetensors.write(folder.resolve("model.safetensors"), named, Map.of("format", "pt"));
        assertFails("model.safetensors: tensors: 1 of no use, such as classifier.dense.weight");
    }

    /** An encoder loaded from the weights of a cross-encoder ignores the head and has the same vectors as without it. */
    @Test
    void theEncoderOfAFolderIgnoresTheHead() throws IOException {
        Path encoder = TinyModel.write(folder.resolve("encoder"));
        Safetensors.write(encoder.resolve("model.safetensors"), MODEL.named(), Map.of("format", "pt"));
        Map<String, Tensor> headless = new LinkedHashMap<>(MODEL.weights());
        headless.keySet().removeIf(name -> name.startsWith("classifier") || name.startsWith("pooler"));
        Path plain = TinyModel.write(folder.resolve("plain"), headless);
        try (SentenceEncoder first = SentenceEncoder.load(Compute.serial(), encoder);
                SentenceEncoder second = SentenceEncoder.load(Compute.serial(), plain)) {
            assertEquals(first.embed("ab c")[0], second.embed("ab c")[0]);
        }
    }

    @Test
    void aModelOfOneTextIsRefused() throws IOException {
        Files.writeString(
                folder.resolve("config.json"),
                MODEL.config("").replace("\"type_vocab_size\": 2", "\"type_vocab_size\": 1"));
        assertFails("config.json: type_vocab_size: 1; expected 2, for two texts");
    }

    @Test
    void theTokenizerSaysHowLongPairsAre() throws IOException {
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"model_max_length\": 9}");
        try (Reranker nine = load()) {
            assertEquals(9, nine.maxTokens());
        }
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 12}");
        try (Reranker nine = load()) {
            assertEquals(9, nine.maxTokens());
        }
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        String expected = folder + "/" + message;
        assertTrue(wrong.getMessage().startsWith(expected), wrong.getMessage() + "\n" + expected);
    }
}
