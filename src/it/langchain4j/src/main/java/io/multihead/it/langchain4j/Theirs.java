package io.multihead.it.langchain4j;

import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.onnx.allminilml6v2.AllMiniLmL6V2EmbeddingModel;
import dev.langchain4j.model.embedding.onnx.bgesmallenv15.BgeSmallEnV15EmbeddingModel;
import dev.langchain4j.model.embedding.onnx.bgesmallzhv15.BgeSmallZhV15EmbeddingModel;
import dev.langchain4j.model.embedding.onnx.e5smallv2.E5SmallV2EmbeddingModel;
import dev.langchain4j.model.output.Response;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes the vectors of langchain4j's classes: for each model and text, the model, the text, the number of tokens, and
 * the elements.
 */
public final class Theirs {
    private static final String WORDS = """
            Attention lets every position of a sequence look at every other one, and weigh what it finds there. A head learns one way \
            to look: at the word before, at the verb of the sentence, at the noun that a pronoun stands for. Several heads look at the \
            same time; their findings are joined and mixed. caf\u00e9, na\u00efve, Stra\u00dfe and \u4f60\u597d are words too, and so \
            is internationalization; 3.14 isn't, quite.""";

    private static final String CHINESE = "bge-small-zh-v1.5";

    /**
     * Chinese for: "Attention lets every position see the other positions, and a head learns one way of looking. He
     * said that Beijing has three universities!"
     */
    private static final String IDEOGRAPHS =
            "\u6ce8\u610f\u529b\u8ba9\u6bcf\u4e2a\u4f4d\u7f6e\u770b\u5230\u5176\u4ed6\u4f4d\u7f6e\uff0c\u4e00\u4e2a\u5934\u5b66\u4f1a\u4e00\u79cd\u770b\u7684\u65b9\u5f0f\u3002"
                    + "\u4ed6\u8bf4\u5317\u4eac\u6709\u4e09\u6240\u5927\u5b66\uff01";

    private static final int[] LENGTHS = {1, 2, 3, 4, 6, 9, 12, 15, 16, 20, 25, 31, 40, 50, 60, 70, 80};

    /** The numbers of words. Each word is one token. */
    private static final int[] LONG_LENGTHS = {118, 125, 126, 127, 200, 254, 333, 509, 510};

    /** The number of tokens that MiniLM's class embeds. */
    private static final int MINILM_TOKENS = 126;

    private static final int MOST_TOKENS = 510;

    private Theirs() {}

    public static void main(String[] args) throws IOException {
        Map<String, EmbeddingModel> models = new LinkedHashMap<>();
        models.put("all-minilm-l6-v2", new AllMiniLmL6V2EmbeddingModel());
        models.put("bge-small-en-v1.5", new BgeSmallEnV15EmbeddingModel());
        models.put(CHINESE, new BgeSmallZhV15EmbeddingModel());
        models.put("e5-small-v2", new E5SmallV2EmbeddingModel());
        Path file = Path.of(args[0]);
        Files.createDirectories(file.toAbsolutePath().getParent());
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            for (Map.Entry<String, EmbeddingModel> model : models.entrySet()) {
                List<String> texts = texts();
                texts.addAll(
                        model.getKey().equals(CHINESE)
                                ? chineseTexts()
                                : longTexts(model.getKey().startsWith("all-minilm") ? MINILM_TOKENS : MOST_TOKENS));
                for (String text : texts) {
                    write(out, model.getKey(), model.getValue(), text);
                }
            }
        }
        System.exit(0); // the threads of langchain4j do not end
    }

    private static List<String> texts() {
        String[] words = WORDS.split(" ");
        List<String> texts = new ArrayList<>();
        for (int length : LENGTHS) {
            for (int start = 0; start < words.length; start += 13) {
                StringBuilder text = new StringBuilder();
                for (int i = 0; i < length; i++) {
                    text.append(words[(start + i) % words.length]).append(' ');
                }
                texts.add(text.toString());
            }
        }
        return texts;
    }

    /**
     * Returns texts with one token per word. The longest text has the maximum number of tokens that are embedded at
     * once.
     */
    private static List<String> longTexts(int mostTokens) {
        String[] words = {"attention", "looks", "at", "every", "word", "of", "a", "sentence", "twice"};
        List<String> texts = new ArrayList<>();
        for (int length : LONG_LENGTHS) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < length; i++) {
                text.append(words[(i * i + length) % words.length]).append(' ');
            }
            if (length <= mostTokens) {
                texts.add(text.toString());
            }
        }
        return texts;
    }

    /** Returns texts with one token per ideograph and punctuation mark. */
    private static List<String> chineseTexts() {
        List<String> texts = new ArrayList<>();
        for (int[] lengths : new int[][] {LENGTHS, LONG_LENGTHS}) {
            for (int length : lengths) {
                StringBuilder text = new StringBuilder();
                for (int i = 0; i < length; i++) {
                    text.append(IDEOGRAPHS.charAt((length * 7 + i) % IDEOGRAPHS.length()));
                }
                texts.add(text.toString());
            }
        }
        return texts;
    }

    private static void write(DataOutputStream out, String name, EmbeddingModel model, String text) throws IOException {
        Response<Embedding> response = model.embed(text);
        out.writeUTF(name);
        out.writeUTF(text);
        out.writeInt(response.tokenUsage().inputTokenCount());
        float[] vector = response.content().vector();
        out.writeInt(vector.length);
        for (float element : vector) {
            out.writeFloat(element);
        }
    }
}
