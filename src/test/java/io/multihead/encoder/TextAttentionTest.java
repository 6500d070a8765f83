package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The attention weights of the encoding of a text are compared with plain loops in double. */
class TextAttentionTest extends TinyModelFolder {
    /**
     * Elements of a state have errors of up to 300 u (as in SentenceEncoderTest). The weights of the model are normal with a deviation of
     * 0.5. The absolute values of the 21 weights of a row sum to 8.4 on average, and an element of a query or key has a deviation of 2.3. A
     * score is 7 products divided by the square root of 7, so its error is at most 2 x 7 x 2.3 x 8.4 / 2.6 = 102 times 300 u, and the error
     * of a weight is half of that. Errors of one sign would add up to this; a tenth of it is allowed. The measured error is 5.5 u.
     */
    private static final double TOLERANCE = 5 * 300 * 0x1p-24;

    private SentenceEncoder encoder;

    @BeforeEach
    void loadModel() throws IOException {
        encoder = load();
    }

    @Test
    void weightsAreThoseOfTheReference() {
        double worst = 0;
        for (String text : List.of("", "a", "abc de", "lmnop qrst", "abc defghi jk lmnopqrs")) {
            TextAttention attention = encoder.attention(text);
            int[] ids = encoder.tokenizer().encodeWithSpecialTokens(text, encoder.maxTokens());
            double[][][][] expected = new ReferenceEncoder(TinyModel.weights(1)).attention(ids);
            Tensor weights = attention.weights();
            assertEquals(Shape.of(TinyModel.LAYERS, TinyModel.HEADS, ids.length, ids.length), weights.shape());
            for (int layer = 0; layer < TinyModel.LAYERS; layer++) {
                for (int head = 0; head < TinyModel.HEADS; head++) {
                    for (int query = 0; query < ids.length; query++) {
                        double sum = 0;
                        for (int key = 0; key < ids.length; key++) {
                            double weight = weights.get(layer, head, query, key);
                            worst = Math.max(worst, Math.abs(weight - expected[layer][head][query][key]));
                            sum += weight;
                        }
                        // the sum of up to 12 exponentials has 11 roundings, and each weight has two, for the
                        // reciprocal and a product
                        assertEquals(1, sum, 13 * 0x1p-24);
                    }
                }
            }
        }
        assertTrue(worst <= TOLERANCE, "differ by " + worst);
    }

    @Test
    void tokensAreThoseOfTheText() {
        assertEquals(
                List.of("[CLS]", "a", "##b", "c", "[SEP]"),
                encoder.attention("ab c").tokens());
        assertEquals(
                List.of("[CLS]", "query", ":", "a", "[SEP]"),
                encoder.withPrompt("query: ").attention("a").tokens());
        assertEquals(List.of("[CLS]", "[SEP]"), encoder.attention("").tokens());
    }

    @Test
    void bitsDoNotDependOnThreads() throws Exception {
        try (Compute threads = Compute.threads(3);
                SentenceEncoder threaded = SentenceEncoder.load(threads, folder)) {
            Tensor one = encoder.attention("abc defghi").weights();
            Tensor three = threaded.attention("abc defghi").weights();
            assertArrayEquals(one.toArray(), three.toArray());
        }
    }

    @Test
    void longTextsAreCutOffOrRefused() {
        String text = "abc defghi jk lmnopqrs";
        assertEquals(12, encoder.attention(text).tokens().size());
        assertEquals("[SEP]", encoder.attention(text).tokens().getLast());
        for (LongTexts way : List.of(LongTexts.FAIL, LongTexts.SPLIT_AND_AVERAGE)) {
            SentenceEncoder other = encoder.withLongTexts(way);
            assertEquals(
                    "text: 21 tokens; expected at most 12, or an encoder that truncates",
                    assertThrows(IllegalArgumentException.class, () -> other.attention(text))
                            .getMessage());
            assertEquals(3, other.attention("a").tokens().size());
        }
    }

    @Test
    void wrongCallsFail() {
        assertEquals(
                "text: null; expected a value",
                assertThrows(NullPointerException.class, () -> encoder.attention(null))
                        .getMessage());
        Tensor weights = Tensor.of(new float[8], 1, 2, 2, 2);
        assertEquals(
                "weights: shape [1, 2, 2, 2]; expected [layers, heads, 3, 3] for as many tokens",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> new TextAttention(Collections.nCopies(3, "a"), weights))
                        .getMessage());
        encoder.close();
        assertThrows(IllegalStateException.class, () -> encoder.attention("a"));
    }
}
