package io.multihead.jmh.bench;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.modality.nlp.DefaultVocabulary;
import ai.djl.modality.nlp.bert.BertFullTokenizer;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.TokenBuffer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.annotations.Param;

/**
 * The ids of 10,000 tokens of English text, in texts of about 100 tokens, on one core. The number of tokens per second
 * is 10 million divided by the milliseconds.
 */
public class TokenizerBench extends Comparison {
    private static final int TOKENS = 10_000;
    private static final String WORDS =
            "Attention lets every position of a sequence look at every other one, and weigh what it finds there. A head learns one"
                    + " way to look: at the word before, at the verb of the sentence, at the noun that a pronoun stands for. Several"
                    + " heads look at the same time; their findings are joined and mixed, internationalization isn't one of them, 3.14"
                    + " may be. ";

    /**
     * {@code crate} is HuggingFace's tokenizer in Rust over JNI, which also returns masks, type ids and words.
     * {@code djlbert} is DJL's BertFullTokenizer in Java, which adds no special tokens and keeps no offsets.
     */
    @Param({"multihead", "crate", "djlbert"})
    public String impl;

    private long[] last = {};

    @Override
    void open() throws IOException {
        byte[] json;
        try (InputStream in = MiniLmComparison.resource(MiniLmComparison.TOKENIZER)) {
            json = in.readAllBytes();
        }
        EncoderTokenizer tokenizer = Tokenizers.ofEncoderJson(json);
        List<String> texts = texts(tokenizer);
        load(impl, () -> make(tokenizer, json, texts));
        long[] expected = Arrays.stream(tokenizer.encodeWithSpecialTokens(texts.getLast()))
                .asLongStream()
                .toArray();
        if (impl.equals("djlbert")) {
            expected = Arrays.copyOfRange(expected, 1, expected.length - 1);
        }
        if (!Arrays.equals(expected, last)) {
            throw new IllegalStateException(impl + ": other ids than ours");
        }
    }

    private Runnable make(EncoderTokenizer tokenizer, byte[] json, List<String> texts) throws Exception {
        switch (impl) {
            case "multihead" -> {
                TokenBuffer buffer = new TokenBuffer();
                return () -> ours(tokenizer, buffer, texts);
            }
            case "crate" -> {
                HuggingFaceTokenizer crate = HuggingFaceTokenizer.newInstance(
                        MiniLmComparison.resource(MiniLmComparison.TOKENIZER),
                        Map.of("truncation", "false", "padding", "false"));
                return () -> texts.forEach(text -> last = crate.encode(text).getIds());
            }
            case "djlbert" -> {
                List<String> words = new ArrayList<>();
                for (int id = 0; id < tokenizer.vocabularySize(); id++) {
                    words.add(tokenizer.token(id));
                }
                DefaultVocabulary vocabulary = DefaultVocabulary.builder()
                        .add(words)
                        .optUnknownToken("[UNK]")
                        .build();
                BertFullTokenizer bert = new BertFullTokenizer(vocabulary, true);
                return () -> texts.forEach(text -> last = bert.tokenize(text).stream()
                        .mapToLong(vocabulary::getIndex)
                        .toArray());
            }
            default -> throw unknown(impl);
        }
    }

    private void ours(EncoderTokenizer tokenizer, TokenBuffer buffer, List<String> texts) {
        for (String text : texts) {
            buffer.clear();
            tokenizer.append(text, buffer);
            long[] ids = new long[buffer.size() + 2];
            ids[0] = tokenizer.firstToken();
            for (int i = 0; i < buffer.size(); i++) {
                ids[i + 1] = buffer.id(i);
            }
            ids[ids.length - 1] = tokenizer.lastToken();
            last = ids;
        }
    }

    /** Returns texts of 64 words that begin at different words. */
    private static List<String> texts(EncoderTokenizer tokenizer) {
        String[] words = WORDS.split(" ");
        List<String> texts = new ArrayList<>();
        for (int tokens = 0; tokens < TOKENS; ) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 64; i++) {
                text.append(words[(texts.size() * 7 + i) % words.length]).append(' ');
            }
            tokens += tokenizer.count(text.toString());
            texts.add(text.toString());
        }
        return texts;
    }
}
