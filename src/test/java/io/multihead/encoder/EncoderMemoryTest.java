package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.support.ChildJvm;
import io.multihead.support.NativeMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Native memory and mapped files of encoders, in JVMs of their own. */
class EncoderMemoryTest {
    private static final String OK = "result: ok";
    /** Without it threads keep a buffer of native memory for the next file that they read. */
    private static final String NO_FILE_BUFFERS = "-Djdk.nio.maxCachedBufferSize=0";

    private static final Path MAPS = Path.of("/proc/self/maps");

    @TempDir
    Path folder;

    /**
     * A closed encoder has unmapped its file, and its packed matrices are freed once it is garbage; those of an encoder that nobody
     * closed as well. Where the system does not list mappings, packed matrices alone are checked.
     */
    @Test
    void nothingIsLeftOfAnEncoder() throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(
                EncoderMemoryTest.class, List.of(NativeMemory.TRACKING, NO_FILE_BUFFERS), folder.toString());
        assertEquals(List.of(OK), lines.stream().filter(OK::equals).toList(), lines.toString());
    }

    /** Opens encoders of a folder and of a file, which it writes. */
    public static void main(String[] arguments) throws Exception {
        Path model = TinyModel.write(Path.of(arguments[0], "model"));
        Path file = model.resolveSibling("packed");
        // a thread keeps native memory for two names of files
        Files.move(Files.createFile(file), file.resolveSibling("other"));
        long before = NativeMemory.allocated();
        for (boolean closed : new boolean[] {true, false}) {
            embedOnce(model, file, closed);
            long after = NativeMemory.after(System::gc, bytes -> bytes == before);
            require(after == before, "native memory: " + (after - before) + " bytes left; expected 0");
        }
        System.out.println(OK);
    }

    private static void embedOnce(Path model, Path file, boolean closed) throws IOException {
        long before = NativeMemory.allocated();
        try (Compute cpu = Compute.threads(2)) {
            SentenceEncoder loaded = SentenceEncoder.load(cpu, model);
            loaded.write(file);
            SentenceEncoder mapped = SentenceEncoder.map(cpu, file);
            for (SentenceEncoder encoder : List.of(loaded, mapped)) {
                encoder.embed(List.of("abc de", "f"));
            }
            require(
                    NativeMemory.allocated() - before >= loaded.ownBytes(),
                    "native memory: no packed matrices; expected them");
            if (closed) {
                requireMapped(true, model, file);
                loaded.close();
                mapped.close();
                requireMapped(false, model, file);
            }
        }
    }

    private static void requireMapped(boolean expected, Path... files) throws IOException {
        if (Files.exists(MAPS)) {
            String maps = Files.readString(MAPS);
            for (Path file : files) {
                require(
                        maps.contains(file.toRealPath().toString()) == expected,
                        file + ": mapped " + !expected + "; expected " + expected);
            }
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
