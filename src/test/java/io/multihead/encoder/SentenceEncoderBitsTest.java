package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.model.Pooling;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Vectors have the same hashes at 128, 256 and 512 bits, for texts of any length and for every way to load a model. */
@Tag("lanes")
@Tag("bits")
class SentenceEncoderBitsTest {
    /**
     * The hashes of MiniLM for short texts, a long text, and two texts with CLS and MAX pooling. A hash changes if a kernel sums in another
     * order, and then every lane width must have the new hash.
     */
    private static final List<Integer> MINILM = List.of(-258664389, -629492320, -1367085546, -1655369252);

    private static final int TINY_MODEL = -638691193;
    /** The hash of the bytes of the packed file, which also changes with the layout of the file. */
    private static final int TINY_FILE = 103709070;

    private static final List<String> TEXTS =
            GoldenTexts.sentences(Models.paragraph()).stream().limit(12).toList();

    @TempDir
    Path folder;

    @Test
    void everyLaneWidthGivesTheSameBits() throws IOException {
        String longText =
                String.join(" ", Arrays.copyOf(Models.paragraph().trim().split("\\s+"), 220));
        Path file = folder.resolve("minilm");
        try (SentenceEncoder encoder = MiniLm.load(Compute.serial())) {
            assertTrue(encoder.tokenizer().count(longText) > 218, "the text must have more tokens than words");
            assertEquals(MINILM, hashes(encoder, longText));
            encoder.write(file);
        }
        try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
            assertEquals(MINILM, hashes(mapped, longText), "mapped");
        }
    }

    private static List<Integer> hashes(SentenceEncoder encoder, String longText) {
        List<String> two = TEXTS.subList(6, 8);
        return List.of(
                hash(encoder.embed(TEXTS)),
                hash(encoder.embed(List.of(longText))),
                hash(encoder.withPooling(Pooling.CLS).embed(two)),
                hash(encoder.withPooling(Pooling.MAX).embed(two)));
    }

    /**
     * The model has sizes that are not multiples of any lane width. A folder and its packed file give the same bits, and the file has the
     * same bytes.
     */
    @Test
    void aFolderAndItsPackedFileGiveTheSameBits() throws IOException {
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder =
                SentenceEncoder.load(Compute.serial(), TinyModel.write(folder.resolve("model")))) {
            assertEquals(TINY_MODEL, tinyHash(encoder), "from a folder");
            encoder.write(file);
        }
        assertEquals(TINY_FILE, Arrays.hashCode(Files.readAllBytes(file)), "the file's bytes");
        try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
            assertEquals(TINY_MODEL, tinyHash(mapped), "mapped");
        }
    }

    /** Returns the hash of vectors of texts of 6 to 24 tokens, and of a text of 200 words that is split. */
    private static int tinyHash(SentenceEncoder encoder) {
        List<String> texts =
                IntStream.of(1, 2, 3, 5, 8, 20, 25).mapToObj("abc d "::repeat).toList();
        String words = IntStream.range(0, 200)
                .mapToObj(i -> "thequickbrownfoxjumps".substring(7 * i % 16, 7 * i % 16 + 1 + i % 5))
                .collect(Collectors.joining(" "));
        int hash = 0;
        for (Pooling pooling : List.of(Pooling.MEAN, Pooling.CLS, Pooling.MAX)) {
            SentenceEncoder pooled = encoder.withPooling(pooling).withMaxTokens(TinyModel.POSITIONS);
            hash = 31 * hash + hash(pooled.embed(texts));
            SentenceEncoder split = pooled.withLongTexts(LongTexts.SPLIT_AND_AVERAGE);
            hash = 31 * hash + hash(split.embed(List.of(words)));
        }
        return hash;
    }

    private static int hash(float[][] vectors) {
        int hash = 0;
        for (float[] vector : vectors) {
            hash = 31 * hash + Arrays.hashCode(vector);
        }
        return hash;
    }
}
