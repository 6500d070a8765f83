package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.BlockType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A packed file of a language model has the same bits, sessions, texts and embeddings as the model that wrote it. */
class PackedModelTest {
    private static final int[] IDS = {5, 60, 70, 80, 90, 100, 110, 120, 130};

    @TempDir
    private Path folder;

    private Path packed() {
        return folder.resolve("model.packed");
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aModelOfAGgufFileIsTheSame(Kind kind) throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(kind, 5).write(path);
        assertSame(path, LoadOptions.DEFAULT);
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {
                "LLAMA",
                "QWEN_2",
                "QWEN_3",
                "QWEN_3_MOE",
                "GEMMA_3",
                "SMOLLM_3",
                "PHI_4",
                "GRANITE_HYBRID",
                "GRANITE_HYBRID_DENSE"
            })
    void aModelOfAFolderIsTheSame(Kind kind) throws IOException {
        Path from = Files.createDirectory(folder.resolve("model"));
        new FamilyFile(kind, 8).withHalves().writeFolder(from, BytePieces.tokenizerJson());
        assertSame(from, LoadOptions.DEFAULT);
    }

    /** Files in an archive cannot be mapped, so they are read. */
    @Test
    void aModelOfAFolderInAnArchiveIsTheSame() throws IOException {
        try (FileSystem archive = FileSystems.newFileSystem(folder.resolve("model.jar"), Map.of("create", "true"))) {
            Path from = Files.createDirectory(archive.getPath("/model"));
            new FamilyFile(Kind.LLAMA, 8).withHalves().writeFolder(from, BytePieces.tokenizerJson());
            assertSame(from, LoadOptions.DEFAULT);
        }
    }

    @Test
    void expertsInOneTensorAreTheSame() throws IOException {
        Path from = Files.createDirectory(folder.resolve("model"));
        new FamilyFile(Kind.QWEN_3_MOE, 8)
                .withHalves()
                .withJoinedExperts()
                .writeFolder(from, BytePieces.tokenizerJson());
        assertSame(from, LoadOptions.DEFAULT);
    }

    @ParameterizedTest
    @EnumSource(BlockType.class)
    void blocksAreTheSame(BlockType type) throws IOException {
        Path path = folder.resolve("model.gguf");
        Kind kind = type.elements() == 256 ? Kind.WIDE : Kind.QWEN_3;
        FamilyModel.writeQuantized(new FamilyFile(kind, 6), path, type);
        assertSame(path, LoadOptions.DEFAULT);
    }

    @Test
    void inputsInEightBitsAreTheSame() throws IOException {
        Path path = folder.resolve("model.gguf");
        FamilyModel.writeQuantized(new FamilyFile(Kind.WIDE, 6), path, BlockType.Q4_K);
        assertSame(path, LoadOptions.DEFAULT.withEightBitInputs(true));
    }

    private void assertSame(Path path, LoadOptions options) throws IOException {
        List<Integer> parts = new ArrayList<>();
        Path saved = folder.resolve("session");
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path, options)) {
            model.write(packed(), (done, all) -> parts.add(all - done));
            float[] expected = logits(model, saved);
            try (LanguageModel mapped = LanguageModel.map(cpu, packed())) {
                assertArrayEquals(expected, logits(mapped, folder.resolve("another")));
                assertEquals(model.toString(), mapped.toString());
                assertEquals(model.ownBytes() + model.mappedBytes(), mapped.ownBytes() + mapped.mappedBytes());
                assertTrue(mapped.ownBytes() < mapped.mappedBytes() / 4, mapped.ownBytes() + " bytes");
                assertArrayEquals(
                        model.embedder().embed("A text."), mapped.embedder().embed("A text."));
                assertArrayEquals(
                        model.tokenizer().encode("A text."), mapped.tokenizer().encode("A text."));
                assertEquals(-1, Files.mismatch(saved, folder.resolve("another"))); // same identity, too
                Path again = folder.resolve("again.packed");
                mapped.write(again);
                assertEquals(-1, Files.mismatch(packed(), again));
            }
        }
        assertTrue(parts.size() > 2 && parts.getLast() == 0, parts.toString());
        for (int i = 1; i < parts.size(); i++) {
            assertEquals(parts.get(i - 1) - 1, parts.get(i));
        }
    }

    /** Returns the logits after these tokens, and saves the session. */
    private static float[] logits(LanguageModel model, Path saved) throws IOException {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            float[] logits = session.append(IDS).nextLogits();
            session.save(saved);
            return logits;
        }
    }

    @Test
    void otherFilesAreRefusedByName() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 5).write(path);
        try (Compute cpu = Compute.serial()) {
            LanguageModel model = LanguageModel.load(cpu, path);
            assertThrows(IllegalArgumentException.class, () -> LanguageModel.map(cpu, path));
            model.write(packed());
            String whole = Files.readString(packed(), StandardCharsets.ISO_8859_1);
            Files.writeString(
                    packed(), whole.replace("language model 1", "language model 9"), StandardCharsets.ISO_8859_1);
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.map(cpu, packed()))
                    .getMessage();
            assertEquals(
                    packed() + ": format: multihead language model 9; expected multihead language model 1", message);
            model.close();
            assertEquals(
                    "model: closed; expected an open one",
                    assertThrows(IllegalStateException.class, () -> model.write(packed()))
                            .getMessage());
        }
    }

    @Test
    void aWriteThatFailsLeavesTheOlderFile() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 5).write(path);
        Files.writeString(packed(), "older");
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path)) {
            LoadListener stops = (done, all) -> {
                if (done == 2) {
                    throw new IllegalStateException("enough");
                }
            };
            assertThrows(IllegalStateException.class, () -> model.write(packed(), stops));
        }
        assertEquals("older", Files.readString(packed()));
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(2, files.count());
        }
    }

    @Test
    void aJvmThatEndsMeanwhileLeavesNothing() throws IOException, InterruptedException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 5).write(path);
        List<String> lines = ChildJvm.run(Ends.class, List.of(), path.toString(), packed().toString());
        assertEquals(
                List.of("temporary files: 1"),
                lines.stream().filter(line -> line.startsWith("temp")).toList());
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(List.of(path), files.toList());
        }
    }

    /** Ends the JVM while it writes a file, as Ctrl-C does. */
    public static final class Ends {
        private Ends() {}

        public static void main(String[] paths) throws IOException {
            Path to = Path.of(paths[1]);
            try (Compute cpu = Compute.serial();
                    LanguageModel model = LanguageModel.load(cpu, Path.of(paths[0]))) {
                model.write(to, (done, all) -> {
                    if (done == all / 2) {
                        end(to);
                    }
                });
            }
        }

        private static void end(Path to) {
            try (Stream<Path> files = Files.list(to.toAbsolutePath().getParent())) {
                long temporary =
                        files.filter(file -> file.toString().endsWith(".tmp")).count();
                System.out.println("temporary files: " + temporary);
                new Thread(() -> System.exit(0)).start();
                Thread.sleep(60_000);
            } catch (IOException | InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }
    }

    /** If any byte of a file is changed, the model is mapped, or the error names the file. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"LLAMA", "QWEN_3_MOE"})
    void damagedFilesAreRefusedByName(Kind kind) throws IOException {
        boolean isFolder = kind == Kind.LLAMA;
        Path from = isFolder ? Files.createDirectory(folder.resolve("model")) : folder.resolve("model.gguf");
        FamilyFile file = new FamilyFile(kind, 8).withHalves();
        try (Compute cpu = Compute.serial()) {
            if (isFolder) {
                file.writeFolder(from, BytePieces.tokenizerJson());
            } else {
                file.write(from);
            }
            try (LanguageModel model = LanguageModel.load(cpu, from)) {
                model.write(packed());
            }
            byte[] whole = Files.readAllBytes(packed());
            int header = (int) whole[0] & 0xff | (whole[1] & 0xff) << 8 | (whole[2] & 0xff) << 16;
            SplittableRandom random = new SplittableRandom(3);
            for (int i = 0; i < 300; i++) {
                byte[] damaged = whole.clone();
                // changes alternate between the header and the last bytes, which are settings; some files are
                // truncated, too
                int at = i % 2 == 0 ? random.nextInt(header) : whole.length - 1 - random.nextInt(20_000);
                damaged[at] = (byte) random.nextInt(256);
                Files.write(packed(), i % 10 == 0 ? Arrays.copyOf(damaged, at) : damaged);
                try (LanguageModel model = LanguageModel.map(cpu, packed())) {
                    model.toString();
                } catch (IllegalArgumentException refused) {
                    assertTrue(refused.getMessage().startsWith(packed() + ": "), refused.getMessage());
                } catch (IOException unreadable) {
                    assertTrue(isFolder, unreadable.toString()); // only the archive of a folder causes it
                }
            }
        }
    }
}
