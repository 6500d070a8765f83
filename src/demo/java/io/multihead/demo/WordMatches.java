package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.model.Buffers;
import io.multihead.model.Transformer;
import io.multihead.text.TokenBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Finds the word of a passage that answers a word of a query, by late interaction (Khattab and Zaharia 2020,
 * "ColBERT"). This is the word with the largest product of token vectors, which are states of the trained model.
 */
final class WordMatches {
    /** Words in more sentences than this are not specific to a search. */
    private static final double MOST_SENTENCES = 0.04;

    private static final int LEAST_LETTERS = 3;

    /** A word: its begin and end in its text, and its tokens. */
    record Word(int from, int end, List<Integer> tokens) {}

    /**
     * The word of a passage that answers a word of a query.
     *
     * @param queryWord index among the query's words
     * @param word of the passage
     * @param similarity cosine of their tokens' vectors
     */
    record Answer(int queryWord, Word word, double similarity) {}

    private final List<String> texts;
    /** The vectors by text and token. */
    private final List<float[][]> vectors;

    private final List<List<Word>> words = new ArrayList<>();

    /** Computes the token vectors of all texts. */
    WordMatches(Compute cpu, SentenceEncoder encoder, List<String> texts) {
        this.texts = texts;
        vectors = vectors(cpu, encoder, texts);
        TokenBuffer tokens = new TokenBuffer();
        for (String text : texts) {
            tokens.clear();
            encoder.tokenizer().append(text, tokens);
            words.add(words(text, tokens));
        }
        Set<String> frequent = frequent();
        for (int i = 0; i < texts.size(); i++) {
            String text = texts.get(i);
            words.set(
                    i,
                    words.get(i).stream()
                            .filter(word -> !frequent.contains(lower(text, word)))
                            .toList());
        }
    }

    private static List<float[][]> vectors(Compute cpu, SentenceEncoder encoder, List<String> texts) {
        Transformer model = encoder.transformer();
        List<float[][]> vectors = new ArrayList<>();
        for (TextBatch batch : TextBatch.of(encoder.tokenizer(), texts)) {
            Buffers buffers = model.buffers(batch.tokens());
            model.forward(cpu, batch.tokenBatch(), buffers);
            vectors.addAll(batch.tokenVectors(buffers.states()));
        }
        return vectors;
    }

    private static List<Word> words(String text, TokenBuffer tokens) {
        List<Word> words = new ArrayList<>();
        for (int i = 0; i < tokens.size(); ) {
            int next = i + 1;
            while (next < tokens.size() && tokens.continuesWord(next)) {
                next++;
            }
            List<Integer> own = new ArrayList<>();
            for (int token = i; token < next; token++) {
                own.add(token + 1); // after [CLS]
            }
            Word word = new Word(tokens.start(i), tokens.end(next - 1), own);
            String part = text.substring(word.from, word.end);
            if (part.length() >= LEAST_LETTERS && part.chars().allMatch(Character::isLetter)) {
                words.add(word);
            }
            i = next;
        }
        return words;
    }

    private Set<String> frequent() {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < texts.size(); i++) {
            Set<String> own = new HashSet<>();
            for (Word word : words.get(i)) {
                own.add(lower(texts.get(i), word));
            }
            own.forEach(word -> counts.merge(word, 1, Integer::sum));
        }
        counts.values().removeIf(count -> count <= Math.max(1, MOST_SENTENCES * texts.size()));
        return counts.keySet();
    }

    private static String lower(String text, Word word) {
        return text.substring(word.from, word.end).toLowerCase(Locale.ROOT);
    }

    /** Returns the words of a text, in order, that may answer or be answered. */
    List<Word> words(int text) {
        return words.get(text);
    }

    /**
     * Returns the answers to the words of a query. If one word of the passage answers several words, only the strongest
     * answer is returned.
     */
    List<Answer> answers(int query, int passage) {
        float[][] asked = vectors.get(query);
        float[][] answering = vectors.get(passage);
        Map<Word, Answer> best = new HashMap<>();
        for (int i = 0; i < words.get(query).size(); i++) {
            Answer answer = null;
            for (Word word : words.get(passage)) {
                double similarity = similarity(asked, words.get(query).get(i), answering, word);
                if (answer == null || similarity > answer.similarity) {
                    answer = new Answer(i, word, similarity);
                }
            }
            if (answer != null) {
                best.merge(answer.word, answer, (a, b) -> b.similarity > a.similarity ? b : a);
            }
        }
        return words.get(passage).stream()
                .filter(best::containsKey)
                .map(best::get)
                .toList();
    }

    private static double similarity(float[][] a, Word first, float[][] b, Word second) {
        double most = -1;
        for (int i : first.tokens) {
            for (int j : second.tokens) {
                if (i < a.length - 1 && j < b.length - 1) { // a long text may be truncated
                    double product = 0;
                    for (int k = 0; k < a[i].length; k++) {
                        product += a[i][k] * b[j][k];
                    }
                    most = Math.max(most, product);
                }
            }
        }
        return most;
    }
}
