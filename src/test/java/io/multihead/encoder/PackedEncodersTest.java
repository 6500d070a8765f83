package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Packed files of rerankers, token encoders and sparse encoders have the same bits and settings as the models that wrote them. */
class PackedEncodersTest {
    private static final Compute CPU = Compute.serial();
    private static final List<String> TEXTS = List.of("abc de", "", "z ab c fgh", "a b c d e f g h a b c d e f g h");

    @TempDir
    Path folder;

    private Path packed() {
        return folder.resolve("packed");
    }

    /** The method that reads a packed file. */
    private interface Mapping {
        AutoCloseable map(Path file) throws IOException;
    }

    private void assertSameScores(Reranker reranker) throws IOException {
        try (reranker) {
            Reranker view = reranker.withActivation(ScoreActivation.IDENTITY).withMaxTokens(11);
            view.write(packed());
            try (Reranker mapped = Reranker.map(CPU, packed())) {
                assertArrayEquals(view.labelScores("ab c", TEXTS), mapped.labelScores("ab c", TEXTS));
                assertEquals(11, mapped.maxTokens());
                assertEquals(ScoreActivation.IDENTITY, mapped.activation());
                assertEquals(view.labels(), mapped.labels());
                assertTrue(mapped.ownBytes() < mapped.mappedBytes(), mapped.ownBytes() + " bytes");
                mapped.write(folder.resolve("again"));
            }
        }
        assertEquals(-1, Files.mismatch(packed(), folder.resolve("again")));
        assertDamagedIsRefused(file -> Reranker.map(CPU, file));
    }

    @Test
    void rerankers() throws IOException {
        assertSameScores(Reranker.load(CPU, new TinyReranker(1, 3).write(folder)));
        assertSameScores(Reranker.load(CPU, folder, WeightFormat.BF16));
    }

    @Test
    void rerankersOfOtherFamilies() throws IOException {
        assertSameScores(Reranker.load(CPU, TinyXlmR.writeClassifier(folder, TinyXlmR.classifier(5, 2))));
        Path nomic = Files.createDirectory(folder.resolve("nomic"));
        assertSameScores(Reranker.load(CPU, new TinyNomicBert(3, false).writeReranker(nomic)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void sparseEncoders(boolean tied) throws IOException {
        new TinyMasked(2, tied).write(folder);
        try (SparseEncoder encoder = SparseEncoder.load(CPU, folder).withMaxTokens(9)) {
            encoder.write(packed());
            try (SparseEncoder mapped = SparseEncoder.map(CPU, packed())) {
                List<SparseVector> expected = encoder.embed(TEXTS);
                List<SparseVector> actual = mapped.embed(TEXTS);
                for (int i = 0; i < TEXTS.size(); i++) {
                    assertArrayEquals(expected.get(i).ids(), actual.get(i).ids());
                    assertArrayEquals(expected.get(i).weights(), actual.get(i).weights());
                }
                assertEquals(9, mapped.maxTokens());
                assertTrue(mapped.ownBytes() < encoder.ownBytes(), mapped.ownBytes() + " bytes");
                mapped.write(folder.resolve("again"));
            }
        }
        assertEquals(-1, Files.mismatch(packed(), folder.resolve("again")));
        assertDamagedIsRefused(file -> SparseEncoder.map(CPU, file));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void encodersOfTokens(boolean ofAuthors) throws IOException {
        TinyTokenModel model = new TinyTokenModel(1);
        Path from = ofAuthors ? model.writeAuthors(folder) : model.writePyLate(folder);
        try (TokenEncoder encoder = TokenEncoder.load(CPU, from)) {
            encoder.write(packed());
            try (TokenEncoder mapped = TokenEncoder.map(CPU, packed())) {
                assertArrayEquals(
                        encoder.embedQueries(TEXTS).tensor().toArray(),
                        mapped.embedQueries(TEXTS).tensor().toArray());
                assertArrayEquals(
                        encoder.embedDocuments(TEXTS).tensor().toArray(),
                        mapped.embedDocuments(TEXTS).tensor().toArray());
                mapped.write(folder.resolve("again"));
            }
        }
        assertEquals(-1, Files.mismatch(packed(), folder.resolve("again")));
        assertDamagedIsRefused(file -> TokenEncoder.map(CPU, file));
    }

    @Test
    void anotherKindOfFileAndAClosedEncoderAreNamed() throws IOException {
        Reranker reranker = Reranker.load(CPU, new TinyReranker(1, 1).write(folder));
        reranker.write(packed());
        String message = assertThrows(IllegalArgumentException.class, () -> TokenEncoder.map(CPU, packed()))
                .getMessage();
        assertEquals(packed() + ": format: multihead reranker 1; expected multihead token encoder 1", message);
        reranker.close();
        assertEquals(
                "encoder: closed; expected an open one",
                assertThrows(IllegalStateException.class, () -> reranker.write(packed()))
                        .getMessage());
    }

    /** Requires that a file with a changed byte in the header, or a truncated file, is mapped, or that the error names the file. */
    private void assertDamagedIsRefused(Mapping mapping) throws IOException {
        byte[] whole = Files.readAllBytes(packed());
        int header = (whole[0] & 0xff) + ((whole[1] & 0xff) << 8);
        Path file = folder.resolve("damaged");
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < 100; i++) {
            byte[] damaged = whole.clone();
            int at = random.nextInt(header);
            damaged[at] = (byte) random.nextInt(256);
            Files.write(file, i % 10 == 0 ? Arrays.copyOf(damaged, at * whole.length / header) : damaged);
            try (AutoCloseable encoder = mapping.map(file)) {
                assertTrue(encoder != null);
            } catch (IllegalArgumentException refused) {
                assertTrue(refused.getMessage().startsWith(file + ": "), refused.getMessage());
            } catch (Exception other) {
                throw new AssertionError("byte " + at, other);
            }
        }
    }
}
