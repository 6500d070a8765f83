package io.multihead.jmh.bench;

import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.jmh.peer.OnnxEncoder;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.openjdk.jmh.annotations.Fork;

/** A comparison with ONNX Runtime for all-MiniLM-L6-v2. */
// ONNX Runtime overflows a stack of 1 MB while it reads the exported graph
@Fork(
        value = 5,
        jvmArgs = {"--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED", "-Xss8m"})
public abstract class MiniLmComparison extends ThreadedComparison {
    static final String MODEL = "/all-minilm-l6-v2.onnx";
    static final String TOKENIZER = "/all-minilm-l6-v2-tokenizer.json";

    static InputStream resource(String name) {
        return MiniLmComparison.class.getResourceAsStream(name);
    }

    /**
     * Writes a folder of the model with a given epsilon of its norms, additional settings and additional weights. The
     * folder is deleted at the end.
     */
    final Path folder(double epsilon, String settings, Map<String, Tensor> more) throws IOException {
        Path folder = temporary("minilm");
        Files.writeString(folder.resolve("config.json"), """
                        {"model_type": "bert", "hidden_act": "gelu", "hidden_size": 384, "num_hidden_layers": 6,
                         "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522,
                         "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": %s%s}
                        """.formatted(epsilon, settings));
        try (InputStream model = resource(MODEL);
                InputStream tokenizer = resource(TOKENIZER)) {
            Files.copy(tokenizer, folder.resolve("tokenizer.json"));
            OnnxWeights encoder = OnnxWeights.read(model);
            Map<String, Tensor> weights = new LinkedHashMap<>(more);
            encoder.names().forEach(name -> weights.put(name, encoder.get(name)));
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        }
        return folder;
    }

    final OnnxEncoder onnxEncoder(String model, EncoderTokenizer tokenizer) throws Exception {
        try (InputStream in = resource(model)) {
            return kept(new OnnxEncoder(in.readAllBytes(), tokenizer, threads));
        }
    }
}
