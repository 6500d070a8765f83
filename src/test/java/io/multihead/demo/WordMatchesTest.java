package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Pairs of words with similar vectors in two texts, according to the trained model. */
class WordMatchesTest {
    private static final List<String> TEXTS = List.of(
            "The unbelievable physician cured a horse.",
            "A doctor healed the mare, quickly.",
            "The tax on imported steel rose.",
            "Is it so?");

    @Test
    void wordsAnswerThemselvesAndTheirLike() throws IOException {
        try (Compute cpu = Compute.threads(2);
                SentenceEncoder encoder = TrainedModel.encoder(cpu)) {
            WordMatches matches = new WordMatches(cpu, encoder, TEXTS);
            for (int text = 0; text < TEXTS.size(); text++) {
                List<WordMatches.Answer> answers = matches.answers(text, text);
                assertEquals(matches.words(text).size(), answers.size());
                for (int i = 0; i < answers.size(); i++) {
                    assertEquals(i, answers.get(i).queryWord());
                    assertEquals(matches.words(text).get(i), answers.get(i).word());
                    // the product of a vector of length 1 with itself has 384 rounded squares
                    assertEquals(1, answers.get(i).similarity(), 384 * 0x1p-24);
                }
            }
            // "the" and "a" are omitted as short or as words of two texts; the pieces of a word are joined
            assertEquals(List.of("unbelievable", "physician", "cured", "horse"), words(matches, 0));
            assertEquals(List.of("doctor", "healed", "mare", "quickly"), words(matches, 1));
            assertEquals(List.of(), matches.words(3));
            assertEquals(List.of(), matches.answers(0, 3));
            assertEquals("doctor", answer(matches, 0, 1, 1));
            assertEquals("healed", answer(matches, 0, 1, 2));
            assertEquals("mare", answer(matches, 0, 1, 3));
            assertTrue(similarity(matches, 0, 1, 3) > similarity(matches, 0, 2, 3));
        }
    }

    private static List<String> words(WordMatches matches, int text) {
        return matches.words(text).stream()
                .map(word -> TEXTS.get(text).substring(word.from(), word.end()))
                .toList();
    }

    private static String answer(WordMatches matches, int query, int passage, int queryWord) {
        WordMatches.Word word = found(matches, query, passage, queryWord).word();
        return TEXTS.get(passage).substring(word.from(), word.end());
    }

    private static double similarity(WordMatches matches, int query, int passage, int queryWord) {
        return matches.answers(query, passage).stream()
                .filter(answer -> answer.queryWord() == queryWord)
                .mapToDouble(WordMatches.Answer::similarity)
                .max()
                .orElse(-1);
    }

    private static WordMatches.Answer found(WordMatches matches, int query, int passage, int queryWord) {
        return matches.answers(query, passage).stream()
                .filter(answer -> answer.queryWord() == queryWord)
                .findFirst()
                .orElseThrow();
    }
}
