package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.model.Pooling;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Nomic BERT has a rotation, a gate, norms after sublayers, and BERT's tokenizer. */
class NomicBertTest {
    /** The tolerance of {@link SentenceEncoderTest}, for sums of 256 products instead of 37. */
    private static final double TOLERANCE = 4 * SentenceEncoderTest.TOLERANCE;

    private static final List<String> TEXTS =
            List.of("", "a", "abc de fgh", "query: a b c d e f g h i j k l m n o p q r");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void vectorsAreThoseOfTheReference(boolean biases) throws IOException {
        for (int seed = 1; seed < 4; seed++) {
            TinyNomicBert model = new TinyNomicBert(seed, biases);
            try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), model.write(folder))) {
                float[][] actual = encoder.withPooling(Pooling.CLS)
                        .withNormalization(false)
                        .embed(TEXTS);
                for (int i = 0; i < TEXTS.size(); i++) {
                    int[] ids = encoder.tokenizer().encodeWithSpecialTokens(TEXTS.get(i), 24);
                    double[] expected = model.states(ids, new int[ids.length])[0];
                    for (int j = 0; j < expected.length; j++) {
                        assertEquals(expected[j], actual[i][j], TOLERANCE, TEXTS.get(i));
                    }
                }
            }
        }
    }

    /** A text has the same bits alone, in a batch on several threads, and with a packed file. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void bitsAreTheSameInAnyBatch(boolean biases) throws IOException {
        Path file = folder.resolve("packed");
        List<String> texts = TinyReranker.texts(new SplittableRandom(8), 80, 8);
        try (Compute threads = Compute.threads(3);
                SentenceEncoder together =
                        SentenceEncoder.load(threads, new TinyNomicBert(1, biases).write(folder.resolve("model")))) {
            float[][] all = together.embed(texts);
            together.write(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                for (int i = 0; i < all.length; i++) {
                    assertArrayEquals(all[i], mapped.embed(texts.get(i)), texts.get(i));
                }
                assertEquals(together.ownBytes() + together.mappedBytes(), mapped.ownBytes() + mapped.mappedBytes());
            }
        }
    }

    @Test
    void scoresAreThoseOfTheReference() throws IOException {
        TinyNomicBert model = new TinyNomicBert(3, false);
        List<String> passages = List.of("abc", "d e f", "x x x", "z");
        try (Reranker reranker = Reranker.load(Compute.serial(), model.writeReranker(folder))) {
            double[] actual = reranker.withActivation(ScoreActivation.IDENTITY).score("ab c", passages);
            for (int i = 0; i < passages.size(); i++) {
                int[] first = reranker.tokenizer().encodeWithSpecialTokens("ab c");
                int[] second = reranker.tokenizer().encodeWithSpecialTokens(passages.get(i));
                int[] ids = Arrays.copyOf(first, first.length + second.length - 1);
                System.arraycopy(second, 1, ids, first.length, second.length - 1);
                int[] types = new int[ids.length];
                Arrays.fill(types, first.length, ids.length, 1);
                // an error E of the state is 24 x 0.4 E after a layer, and 24 x 0.4 times larger in the sum
                assertEquals(model.logit(ids, types), actual[i], 92 * TOLERANCE, passages.get(i));
            }
            assertTrue(Math.abs(actual[2] - actual[3]) > 0.05, Arrays.toString(actual));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"swiglu\" | \"gelu\" | config.activation_function: gelu; expected swiglu or geglu",
                "\"prenorm\": false | \"prenorm\": true | config.prenorm: true; expected false",
                "_fraction\": 1.0 | _fraction\": 0.5 | config.rotary_emb_fraction: 0.5; expected 1.0",
                "\"rotary_emb_fraction\" | \"other\" | config.rotary_emb_fraction: null; expected 1.0",
                "_factor\": null | _factor\": 2 | config.rotary_scaling_factor: 2; expected null",
                "_base\": 50 | _base\": 0 | config.rotary_emb_base: 0; expected a number above 1",
                "n_embd\": 24 | hidden_size\": 24 | config.n_embd: null; expected an integer from 1",
                "n_embd\": 24 | n_embd\": 27 | n_embd: 27; expected an even number of elements of each of 3 heads",
                "positions\": 24 | positions\": 16777216 | n_positions: 16777216, with n_embd 24 and n_inner 256; expected batches",
                "\"prenorm\" | \"num_experts\": 8, \"prenorm\" | config.num_experts: 8; expected null",
                "\"prenorm\" | \"causal\": true, \"prenorm\" | config.causal: true; expected false",
                "\"prenorm\" | \"use_rms_norm\": true, \"prenorm\" | config.use_rms_norm: true; expected false",
                "_multiple\": 64 | _multiple\": 100 | expected floating numbers of shape [100, 24]",
            })
    void whatIsNotImplementedIsNamed(String part, String other, String message) throws IOException {
        TinyNomicBert model = new TinyNomicBert(1, false);
        String config = model.config().replace(part, other);
        assertTrue(!config.equals(model.config()), part);
        model.write(folder);
        Files.writeString(folder.resolve("config.json"), config);
        assertFails(message);
    }

    @Test
    void aWeightOfNoUseIsNamed() throws IOException {
        TinyNomicBert model = new TinyNomicBert(1, false);
        model.weights().put("encoder.layers.0.mlp.fc11.bias", Tensor.of(new float[1]));
        model.write(folder);
        assertFails("tensors: 1 of no use, such as encoder.layers.0.mlp.fc11.bias");
    }

    private void assertFails(String message) {
        String actual = assertThrows(
                        IllegalArgumentException.class,
                        () -> SentenceEncoder.load(Compute.serial(), folder).close())
                .getMessage();
        assertTrue(actual.contains(message), actual);
    }
}
