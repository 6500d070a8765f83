package io.multihead.it.langchain4j;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.multihead.text.TextNormalization;
import io.multihead.text.WordPiece;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;

/** Requires that HuggingFace's crate reads the {@code tokenizer.json} of this library and returns the same ids. */
public final class Tokenizers {
    private static final String MODEL = "/all-minilm-l6-v2-tokenizer.json";
    private static final int TEXTS = 2_000;

    /** Parts of random texts. The steps of normalization and splitting treat these parts in different ways. */
    private static final List<String> PARTS = List.of(
            ("~|~|~|\t|\n|\u00a0|\u0007|\u200b|attention|Attention|look|ing|x|Q|3|.14|-|'|don't|$|[MASK]|[SEP]|[mask]"
                            + "|caf\u00e9|cafe\u0301|NA\u00cfVE|\u0130|Stra\u00dfe|\u041f\u0440\u0438\u0432\u0435\u0442|\u0439"
                            + "|\u4f60|\u597d|\u3053|\uac00|\ud83d\ude00|\u2014|\u201c|\u00bd|\ufffd|"
                            + "a".repeat(101))
                    .replace('~', ' ')
                    .split("[|]"));

    private Tokenizers() {}

    public static void main(String[] args) throws IOException {
        WordPiece model;
        try (InputStream json = Tokenizers.class.getResourceAsStream(MODEL)) {
            model = (WordPiece) io.multihead.text.Tokenizers.ofEncoderJson(json.readAllBytes());
        }
        compare("as the model has it", model);
        List<String> vocabulary = IntStream.range(0, model.vocabularySize())
                .mapToObj(model::token)
                .toList();
        for (int steps = 0; steps < 16; steps++) {
            TextNormalization normalization =
                    new TextNormalization((steps & 1) != 0, (steps & 2) != 0, (steps & 4) != 0, (steps & 8) != 0);
            compare(normalization.toString(), WordPiece.ofVocabulary(vocabulary, normalization));
        }
        System.exit(0); // the threads of the crate do not end
    }

    private static void compare(String name, WordPiece tokenizer) throws IOException {
        Random random = new Random(17);
        try (HuggingFaceTokenizer crate = HuggingFaceTokenizer.newInstance(
                new ByteArrayInputStream(tokenizer.toTokenizerJson()),
                Map.of("padding", "false", "truncation", "false"))) {
            for (int i = 0; i < TEXTS; i++) {
                String text = text(random);
                long[] expected = crate.encode(text).getIds();
                long[] actual = Arrays.stream(tokenizer.encodeWithSpecialTokens(text))
                        .asLongStream()
                        .toArray();
                if (!Arrays.equals(expected, actual)) {
                    throw new AssertionError(name + ": " + text + ": the crate has " + Arrays.toString(expected)
                            + ", and this library " + Arrays.toString(actual));
                }
            }
        }
        System.out.println("tokenizer.json, " + name + ": " + TEXTS + " texts");
    }

    private static String text(Random random) {
        List<String> parts = new ArrayList<>();
        for (int i = random.nextInt(12); i > 0; i--) {
            parts.add(PARTS.get(random.nextInt(PARTS.size())));
        }
        return String.join("", parts);
    }
}
