package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PromptLookupTest {
    @Test
    void theTokensAfterTheLastSameThreeAreGuessed() {
        assertArrayEquals(new int[] {7, 8}, guess(2, 1, 2, 3, 6, 6, 1, 2, 3, 7, 8, 9, 1, 2, 3));
    }

    @Test
    void twoTokensAreEnough() {
        assertArrayEquals(new int[] {5, 9, 2, 3}, guess(8, 2, 3, 5, 9, 2, 3));
    }

    @Test
    void aTextThatRepeatsItselfIsGuessedAsFarAsItGoes() {
        assertArrayEquals(new int[] {4}, guess(8, 4, 4, 4, 4));
    }

    @Test
    void nothingIsGuessedWithoutAnEarlierPlace() {
        assertArrayEquals(new int[0], guess(8, 1, 2, 3, 4, 5, 3));
        assertArrayEquals(new int[0], guess(8, 1));
        assertArrayEquals(new int[0], guess(8));
        assertArrayEquals(new int[0], guess(0, 1, 2, 1, 2));
    }

    private static int[] guess(int most, int... text) {
        TokenList tokens = new TokenList();
        Arrays.stream(text).forEach(tokens::add);
        int[] to = new int[8];
        return Arrays.copyOf(to, PromptLookup.draft(tokens, most, to));
    }
}
