package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.PageCode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The class of docs/reference/heads.md. */
class EncoderHeadsTest {
    @TempDir
    private Path folder;

    @Test
    void allHeadsHaveTheVectorOfTheEncoderAndFewerAnotherOne() throws IOException {
        TinyModel.write(folder);
        Compute cpu = Compute.serial();
        try (SentenceEncoder encoder = SentenceEncoder.load(cpu, folder).withNormalization(false)) {
            int layers = encoder.transformer().blocks().size();
            int heads = encoder.transformer().blocks().getFirst().attention().heads();
            boolean[][] kept = new boolean[layers][heads];
            for (boolean[] layer : kept) {
                Arrays.fill(layer, true);
            }
            String text = "ab c de";
            float[] vector = encoder.embed(text);
            double[] all = EncoderHeads.mean(cpu, encoder, kept, text);
            assertEquals(vector.length, all.length);
            for (int i = 0; i < all.length; i++) {
                // a factor of 1 changes no state; both sum in double, and the encoder rounds its mean to f32
                assertEquals(vector[i], all[i], 0x1p-24 * Math.abs(all[i]) + 0x1p-44, "element " + i);
            }
            kept[0][0] = false;
            double[] fewer = EncoderHeads.mean(cpu, encoder, kept, text);
            assertTrue(!Arrays.equals(all, fewer), "a head without an effect");
            kept[0][0] = true;
            assertArrayEquals(all, EncoderHeads.mean(cpu, encoder, kept, text));
        }
    }

    @Test
    void thePageHasThisCode() throws IOException {
        PageCode.isTested(
                Path.of("docs/reference/heads.md"),
                Path.of("src/test/java/io/multihead/encoder/EncoderHeads.java"),
                "EncoderHeads");
    }
}
