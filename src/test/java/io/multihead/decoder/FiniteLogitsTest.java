package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Logits that are not finite cause an error in their session only. */
class FiniteLogitsTest {
    private static final GenerationOptions SHORT = GenerationOptions.DEFAULT.withMaxTokens(5);

    private final Compute cpu = Compute.serial();

    /** Returns a model whose embedding of z is not finite. */
    private LanguageModel poisoned() {
        Map<String, Tensor> weights = TinyDecoder.weights(TinyDecoder.config(), 1);
        Tensor table = weights.get("token_embd.weight");
        for (int i = 0; i < 32; i++) {
            table.set(Float.NaN, 'z', i);
        }
        return TinyDecoder.model(cpu, weights);
    }

    private static void assertNamed(String begin, ArithmeticException thrown) {
        assertTrue(thrown.getMessage().startsWith(begin), thrown.getMessage());
    }

    @Test
    void nextLogitsAreFiniteOrAnError() {
        try (LanguageModel model = poisoned();
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session bad = sessions.open().append("a z b");
                Session good = sessions.open().append("a b")) {
            float[] logits = good.nextLogits();
            assertEquals(
                    "logits: NaN for token 0; expected finite numbers, which the model's weights do not give",
                    assertThrows(ArithmeticException.class, bad::nextLogits).getMessage());
            assertArrayEquals(logits, good.nextLogits());
            // the session has not changed
            bad.truncate(2);
            assertEquals(2, bad.length());
            assertTrue(Float.isFinite(bad.nextLogits()[0]));
        }
    }

    @Test
    void inABatchThePoisonedTextAloneFails() {
        try (LanguageModel model = poisoned();
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(3));
                Session bad = sessions.open().append("a z b");
                Session good = sessions.open().append("a b");
                Session alone = sessions.open().append("a b")) {
            int[] expected = ids(alone.generate(SHORT));
            assertNamed(
                    "logits: NaN for token 0; expected finite numbers",
                    assertThrows(
                            ArithmeticException.class,
                            () -> sessions.generate(List.of(bad, good), List.of(SHORT, SHORT))));
            int[] tokens = good.tokens();
            assertArrayEquals(expected, Arrays.copyOfRange(tokens, tokens.length - expected.length, tokens.length));
        }
    }

    private static int[] ids(GeneratedText text) {
        return text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
    }

    /** Values exceed the largest f16. The error names the type of the cache, and sessions with other types continue. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "F16", "BF16", "I8"})
    void aTypeOfCacheThatOverflowsIsNamed(DType type) {
        Map<String, Tensor> weights = TinyDecoder.weights(TinyDecoder.config(), 1);
        float[] values = weights.get("blk.0.attn_v.weight").toArray();
        for (int i = 0; i < values.length; i++) {
            values[i] *= 1e6F;
        }
        weights.put("blk.0.attn_v.weight", Tensor.of(values, 16, 32));
        try (LanguageModel model = TinyDecoder.model(cpu, weights);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.of(type)));
                Session session = sessions.open().append("a b")) {
            if (type == DType.F16) {
                String begin =
                        "logits: NaN for token 0; expected finite numbers, which the model's weights and a cache in F16,";
                assertNamed(begin, assertThrows(ArithmeticException.class, session::nextLogits));
                assertNamed(begin, assertThrows(ArithmeticException.class, () -> session.generate(SHORT)));
            } else {
                assertEquals(5, session.generate(SHORT).tokens().size());
                assertTrue(Float.isFinite(session.nextLogits()[0]));
            }
        }
    }
}
