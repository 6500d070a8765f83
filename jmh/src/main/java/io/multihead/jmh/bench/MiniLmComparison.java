package io.multihead.jmh.bench;

import io.multihead.jmh.peer.OnnxEncoder;
import io.multihead.text.EncoderTokenizer;
import java.io.InputStream;
import org.openjdk.jmh.annotations.Fork;

/** A comparison with ONNX Runtime of what all-MiniLM-L6-v2 computes. */
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

    final OnnxEncoder onnxEncoder(String model, EncoderTokenizer tokenizer) throws Exception {
        try (InputStream in = resource(model)) {
            return kept(new OnnxEncoder(in.readAllBytes(), tokenizer, threads));
        }
    }
}
