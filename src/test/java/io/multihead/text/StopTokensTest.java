package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StopTokensTest {
    private static Set<Integer> stops(String... tokens) {
        return StopTokens.of(Vocabulary.of(List.of(tokens), Collections.nCopies(tokens.length, TokenType.CONTROL)));
    }

    /** In the harmony format, a thought ends with {@code <|end|>}, and a call or the answer follows. */
    @Test
    void aMessageOfHarmonyDoesNotEndTheText() {
        assertEquals(Set.of(1), stops("<|user|>", "<|end|>"));
        assertEquals(Set.of(0, 2), stops("<|return|>", "<|end|>", "<|call|>"));
    }
}
