package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Encoder families other than BERT have the same hashes at 128, 256 and 512 bits. A hash changes if a kernel sums in another order. */
@Tag("lanes")
@Tag("bits")
class EncoderFamiliesBitsTest {
    private static final int MODERNBERT = -364881055;
    private static final int NOMICBERT = 1381068337;
    private static final int MODERNBERT_SCORES = 1941751555;

    private static final List<String> TEXTS =
            IntStream.of(1, 2, 3, 5, 7).mapToObj("abc d "::repeat).toList();

    @TempDir
    Path folder;

    @Test
    void nomicBert() throws IOException {
        try (SentenceEncoder encoder =
                SentenceEncoder.load(Compute.serial(), new TinyNomicBert(1, false).write(folder))) {
            assertEquals(NOMICBERT, Arrays.deepHashCode(encoder.embed(TEXTS)));
        }
    }

    @Test
    void modernBert() throws IOException {
        TinyModernBert.write(folder, TinyModernBert.NEWER, TinyModernBert.weights(1, true));
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
            assertEquals(MODERNBERT, Arrays.deepHashCode(encoder.embed(TEXTS)));
        }
        TinyModernBert.writeReranker(
                folder, TinyModernBert.CONFIG, TinyModernBert.weights(1, false), TinyModernBert.head(1, false, 1));
        List<String> passages = TinyReranker.texts(new SplittableRandom(9), 60, 8);
        try (Reranker reranker = Reranker.load(Compute.serial(), folder)) {
            assertEquals(MODERNBERT_SCORES, Arrays.hashCode(reranker.score("abc de f", passages)));
        }
    }
}
