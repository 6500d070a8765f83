package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Scores have the same hashes at 128, 256 and 512 bits. A hash changes if a kernel sums in another order. */
@Tag("lanes")
class RerankerBitsTest {
    private static final int ONE_LABEL = -2029496115;
    private static final int THREE_LABELS = -59179543;

    @TempDir
    Path folder;

    @Test
    void everyLaneWidthGivesTheSameBits() throws IOException {
        List<String> passages = TinyReranker.texts(new SplittableRandom(9), 120, 8);
        try (Reranker one = load(1);
                Reranker three = load(3)) {
            assertEquals(ONE_LABEL, Arrays.hashCode(one.score("abc de f", passages)));
            assertEquals(THREE_LABELS, Arrays.deepHashCode(three.labelScores("abc de f", passages)));
        }
    }

    private Reranker load(int labels) throws IOException {
        return Reranker.load(
                Compute.serial(), new TinyReranker(labels, labels).write(folder.resolve("model" + labels)));
    }
}
