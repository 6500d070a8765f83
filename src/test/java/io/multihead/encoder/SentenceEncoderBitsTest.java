package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The same hash at 128, 256 and 512 bits: MiniLM's vectors do not depend on the lane width. */
@Tag("lanes")
class SentenceEncoderBitsTest {
    /** Changes with the order in which any kernel sums; then every width must give the new one. */
    private static final int GOLDEN_HASH = -258664389;

    @Test
    void everyLaneWidthGivesTheSameBits() {
        List<String> texts =
                GoldenTexts.sentences(Models.paragraph()).stream().limit(12).toList();
        try (SentenceEncoder encoder = MiniLm.load(Compute.serial())) {
            int hash = 0;
            for (float[] vector : encoder.embed(texts)) {
                hash = 31 * hash + Arrays.hashCode(vector);
            }
            assertEquals(GOLDEN_HASH, hash);
        }
    }
}
