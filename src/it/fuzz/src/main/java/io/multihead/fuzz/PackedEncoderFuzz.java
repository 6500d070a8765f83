package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A packed file of an encoder with arbitrary bytes. An accepted encoder is written again, and then has the same
 * vectors.
 */
public final class PackedEncoderFuzz {
    private static final Compute CPU = Compute.serial();
    private static final Path FILE = Scratch.folder("packed-encoder").resolve("encoder");
    private static final Path COPY = FILE.resolveSibling("copy");

    private PackedEncoderFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        Oracle.check(input.length, () -> check(input));
    }

    private static void check(byte[] input) {
        Scratch.write(FILE, Framed.file(input));
        Oracle.accepts(FILE + ": ", () -> {
            try (SentenceEncoder encoder = SentenceEncoder.map(CPU, FILE)) {
                Oracle.uncounted(() -> use(encoder));
            }
        });
    }

    private static void use(SentenceEncoder encoder) {
        try {
            encoder.write(COPY);
            try (SentenceEncoder copy = SentenceEncoder.map(CPU, COPY)) {
                Oracle.require(Arrays.equals(embed(encoder), embed(copy)), "another vector");
            }
        } catch (IOException failed) {
            throw new AssertionError("a file that was just written", failed); // this is not a rejection of the input
        }
    }

    private static float[] embed(SentenceEncoder encoder) {
        // two tokens, so that a run takes microseconds, and the text is not too long for the options of any file
        float[][] vector = {{}};
        Oracle.computes(
                false, () -> vector[0] = encoder.withPrompt("").withMaxTokens(3).embed(""));
        return vector[0];
    }
}
