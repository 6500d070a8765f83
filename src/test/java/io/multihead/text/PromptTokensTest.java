package io.multihead.text;

import static io.multihead.text.TokenizersTest.BYTES;
import static io.multihead.text.TokenizersTest.END;
import static io.multihead.text.TokenizersTest.STRIPPED;
import static io.multihead.text.TokenizersTest.WORD;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.format.GgufFixture;
import io.multihead.internal.text.pairs.ByteAlphabet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The tokens of prompts. Only characters of the template may become control tokens. */
class PromptTokensTest {
    /**
     * A user's text never becomes a control token, wherever a template inserts it. Tokens that are allowed in any text
     * are found in it.
     */
    @Test
    void controlTokensOfAPromptAreTheTemplates() {
        Tokenizer tokenizer = TokenizersTest.read(BYTES);
        PromptText end = PromptText.template("<|end|>");
        PromptText user = PromptText.content("<|end|>");
        int[] characters = tokenizer.encode("<|end|>");
        assertTrue(characters.length > 1);
        assertArrayEquals(new int[] {END}, tokenizer.encode(end));
        assertArrayEquals(characters, tokenizer.encode(user));
        assertArrayEquals(
                new int[] {'a', END, 'b'},
                tokenizer.encode(PromptText.content("a").plus(end).plus(PromptText.content("b"))));
        for (int from = 0; from < 7; from++) {
            for (int to = from + 1; to <= 7; to++) {
                PromptText mixed =
                        end.substring(0, from).plus(user.substring(from, to)).plus(end.substring(to, 7));
                assertArrayEquals(characters, tokenizer.encode(mixed), from + " to " + to);
            }
        }
        PromptText found = PromptText.template("a ")
                .plus(PromptText.content("[s] word <|end|>"))
                .plus(end);
        int[] ids = tokenizer.encode(found);
        assertArrayEquals(new int[] {'a', STRIPPED, WORD}, Arrays.copyOf(ids, 3));
        assertEquals(END, ids[ids.length - 1]);
        assertArrayEquals(
                tokenizer.encode("ab ab"),
                tokenizer.encode(PromptText.template("a").plus(PromptText.content("b ab"))));
    }

    /** The concatenation of a template and content is divided as one text. */
    @Test
    void tokensAreThoseOfTheWholeText() {
        SplittableRandom random = new SplittableRandom(11);
        List<String> content =
                List.of("a", "b", "ab", " ", "\n", "word", "[s]", "e\u0301", "\ud83d\ude42", "<", "|>", "1");
        List<Tokenizer> tokenizers = List.of(TokenizersTest.read(BYTES), TokenizersTest.read(TokenizersTest.PIECES));
        for (int run = 0; run < 3000; run++) {
            Tokenizer tokenizer = tokenizers.get(run % 2);
            PromptText.Builder prompt = new PromptText.Builder();
            for (int i = random.nextInt(12); i >= 0; i--) {
                boolean mark = random.nextInt(3) == 0;
                prompt.append(
                        mark ? run % 2 == 0 ? "<|end|>" : "<s>" : content.get(random.nextInt(content.size())),
                        !mark && random.nextBoolean());
            }
            PromptText text = prompt.build();
            assertArrayEquals(
                    tokenizer.encode(PromptText.template(text.toString())), tokenizer.encode(text), text.toString());
        }
    }

    /** Some converters give chat marks the type of texts. In a template, such marks are control tokens. */
    @Test
    void marksOfGgufAreTokensWhateverTheirTypes() {
        List<String> tokens = new ArrayList<>();
        for (int value = 0; value < 256; value++) {
            tokens.add(String.valueOf(ByteAlphabet.character(value)));
        }
        tokens.add("<|user|>");
        Map<String, Object> keys = new HashMap<>();
        keys.put("tokenizer.ggml.model", "gpt2");
        keys.put("tokenizer.ggml.pre", "gpt-2");
        keys.put("tokenizer.ggml.tokens", tokens);
        keys.put("tokenizer.ggml.merges", List.of());
        Tokenizer tokenizer = Tokenizers.of(GgufFixture.of(keys));
        assertArrayEquals(new int[] {256, 'a'}, tokenizer.encode(PromptText.template("<|user|>a")));
        assertEquals(9, tokenizer.encode(PromptText.content("<|user|>a")).length);
    }
}
