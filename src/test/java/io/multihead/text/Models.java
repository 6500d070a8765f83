package io.multihead.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The model of the test class path. */
public final class Models {
    /** The resource of the model. */
    public static final String MINILM = "/all-minilm-l6-v2.onnx";

    public static final String MINILM_TOKENIZER = "/all-minilm-l6-v2-tokenizer.json";

    private Models() {}

    /** Opens a resource. */
    public static InputStream open(String resource) {
        InputStream in = Models.class.getResourceAsStream(resource);
        if (in == null) {
            throw new IllegalStateException("no resource " + resource);
        }
        return in;
    }

    /** Returns the tokenizer of MiniLM, bge and e5. */
    public static WordPiece tokenizer() {
        try (InputStream in = open(MINILM_TOKENIZER)) {
            return (WordPiece) Tokenizers.ofEncoderJson(in.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the paragraph from which the golden texts are made, which is the last golden text. */
    public static String paragraph() {
        try (InputStream in = open("/golden/text/wordpiece.json")) {
            JsonNode texts = new ObjectMapper().readTree(in).get("texts");
            return texts.get(texts.size() - 1).get("text").asText();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
