package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.model.Pooling;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Encoders with weights that are stored in 16 bits, or rounded during loading. */
class WeightFormatsTest {
    private static final List<String> TEXTS =
            GoldenTexts.sentences(Models.paragraph()).stream().limit(12).toList();

    @TempDir
    Path folder;

    /**
     * Bounds the cosine between vectors with rounded weights and vectors with f32 weights. Rounding adds to each product a relative error
     * that depends on the format ({@code BlockTensor.quantize}, bf16 2^-9, f16 2^-12) and is independent between layers. The expected angle
     * is this error times the square root of the 36 products in a row. The cosine is less than 1 by half of the square of the angle, here
     * times 4 for the spread over texts.
     */
    @ParameterizedTest
    @CsvSource({
        "F32, 0, 1.01",
        "BF16, 0.002, 0.51",
        "F16, 0.00025, 0.51",
        "Q8_0, 0.0053, 0.28",
        "Q5_1, 0.038, 0.21",
        "Q5_0, 0.043, 0.19",
        "Q4_1, 0.078, 0.17",
        "Q4_0, 0.086, 0.16"
    })
    void vectorsAreNearThoseOfF32(WeightFormat format, double error, double memory) throws IOException {
        try (SentenceEncoder whole = MiniLm.load(Compute.serial());
                SentenceEncoder rounded = load(format)) {
            float[][] expected = whole.embed(TEXTS);
            float[][] actual = rounded.embed(TEXTS);
            double least = 1;
            for (int i = 0; i < expected.length; i++) {
                least = Math.min(
                        least,
                        Neighbor.nearest(expected[i], new float[][] {actual[i]}, 1)
                                .getFirst()
                                .similarity());
            }
            double ratio = (double) rounded.ownBytes() / whole.ownBytes();
            assertTrue(least >= 1 - 4 * 36 * error * error / 2 - 1e-6, "least cosine " + least);
            assertTrue(ratio <= memory, "memory " + ratio);
        }
    }

    private static SentenceEncoder load(WeightFormat format) throws IOException {
        try (InputStream model = Models.open(Models.MINILM);
                InputStream tokenizer = Models.open(Models.MINILM_TOKENIZER)) {
            return SentenceEncoder.ofOnnx(Compute.serial(), model, tokenizer, Pooling.MEAN, format);
        }
    }

    /** A packed file contains the panels and the blocks unchanged, and gives the same vectors. */
    @Test
    void roundedWeightsArePackedInFiles() throws IOException {
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = load(WeightFormat.Q8_0)) {
            encoder.write(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed(TEXTS), mapped.embed(TEXTS));
                assertTrue(mapped.mappedBytes() > 24_000_000 && mapped.mappedBytes() < 26_000_000, "mapped");
            }
        }
    }

    /**
     * Weights that a folder stores in 16 bits are not widened and need half the memory. Vectors have the same bits as with f32 weights of
     * these values.
     */
    @ParameterizedTest
    @EnumSource(names = {"BF16", "F16"})
    void storedAs(DType dtype) throws IOException {
        TinyModel.write(folder);
        try (Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> stored = new LinkedHashMap<>();
            Map<String, Tensor> widened = new LinkedHashMap<>();
            TinyModel.weights(1).forEach((name, weight) -> {
                stored.put(name, weight.copy(arena, dtype));
                widened.put(name, stored.get(name).copy(arena, DType.F32));
            });
            float[][] expected = embed(widened, null);
            assertArrayEquals(expected, embed(stored, null));
            assertArrayEquals(expected, embed(widened, WeightFormat.valueOf(dtype.name())));
            assertArrayEquals(expected, embed(stored, WeightFormat.F32));
        }
    }

    private float[][] embed(Map<String, Tensor> weights, WeightFormat format) throws IOException {
        TinyModel.write(folder, weights);
        try (SentenceEncoder encoder = format == null
                ? SentenceEncoder.load(Compute.serial(), folder)
                : SentenceEncoder.load(Compute.serial(), folder, format)) {
            return encoder.embed(List.of("abc de", "f"));
        }
    }

    /** The error names the tensor, because rows of 21 elements are not whole blocks. */
    @Test
    void aFormatThatDoesNotFitIsNamed() throws IOException {
        TinyModel.write(folder);
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> SentenceEncoder.load(Compute.serial(), folder, WeightFormat.Q8_0))
                .getMessage();
        assertTrue(
                message.startsWith(
                        folder.resolve("model.safetensors") + ": tensor \"embeddings.word_embeddings.weight\": "),
                message);
        assertTrue(message.contains("expected rows of a multiple of 32"), message);
    }

    /** Heads and projections are rounded like the encoder. */
    @Test
    void otherEncodersTakeAFormat() throws IOException {
        new TinyReranker(1, 1).write(folder);
        try (Reranker whole = Reranker.load(Compute.serial(), folder);
                Reranker half = Reranker.load(Compute.serial(), folder, WeightFormat.BF16)) {
            assertEquals(whole.score("a", "bc"), half.score("a", "bc"), 0.05);
            assertTrue(half.ownBytes() < 0.8 * (whole.ownBytes() + whole.mappedBytes()), "memory");
        }
        new TinyMasked(1, true).write(folder.resolve("masked"));
        try (SparseEncoder half = SparseEncoder.load(Compute.serial(), folder.resolve("masked"), WeightFormat.F16)) {
            assertTrue(half.embed("abc").size() > 0, "words");
        }
        new TinyTokenModel(1).writePyLate(folder.resolve("tokens"));
        try (TokenEncoder half = TokenEncoder.load(Compute.serial(), folder.resolve("tokens"), WeightFormat.F16)) {
            assertEquals(1, half.embedDocuments(List.of("cde")).texts());
        }
    }
}
