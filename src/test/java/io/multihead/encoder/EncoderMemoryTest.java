package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.internal.gemm.MacroKernel;
import io.multihead.internal.kernel.BlockScales;
import io.multihead.internal.kernel.ColumnMajorB;
import io.multihead.internal.kernel.F32Panels;
import io.multihead.support.ChildJvm;
import io.multihead.support.NativeMemory;
import io.multihead.support.WarmCalls;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Tests memory and mapped files of encoders in separate JVMs. */
@Execution(ExecutionMode.CONCURRENT)
class EncoderMemoryTest {
    private static final String OK = "result: ok";
    private static final String BATCHES = "batches";
    /** The option prevents threads from keeping a buffer of native memory for the next file that they read. */
    private static final String NO_FILE_BUFFERS = "-Djdk.nio.maxCachedBufferSize=0";

    private static final Path MAPS = Path.of("/proc/self/maps");

    @TempDir
    Path folder;

    /**
     * Closing an encoder immediately unmaps its file and frees its packed matrices, even if the object is reachable. Only packed matrices
     * are checked if the system does not list mappings.
     */
    @Test
    void nothingIsLeftOfAnEncoder() throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(
                EncoderMemoryTest.class, List.of(NativeMemory.TRACKING, NO_FILE_BUFFERS), folder.toString());
        assertEquals(List.of(OK), lines.stream().filter(OK::equals).toList(), lines.toString());
    }

    /**
     * Embeds 16 texts of 256 tokens, and 100 texts of 2 to 32 tokens, with MiniLM in a JVM with the default heap and collector. For any
     * number of texts, the memory in addition to weights and tokenizer is the memory of one batch.
     *
     * <p>The limit is checked for used memory, because resident memory varies. The initial heap of a JVM is a 64th of the machine's memory,
     * the collector may fill it before it collects, and trials of vectors leave garbage during the first batch until C2 has compiled the
     * kernels.
     */
    @Test
    void aBatchNeedsLittleMemory() throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(
                EncoderMemoryTest.class,
                List.of(NativeMemory.TRACKING),
                BATCHES,
                MiniLm.library().toString());
        assertEquals(List.of(OK), lines.stream().filter(OK::equals).toList(), lines.toString());
    }

    /** Runs one of the scenarios in a separate JVM. */
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals(BATCHES)) {
            batches(Path.of(arguments[1]));
        } else {
            openings(Path.of(arguments[0]));
        }
        System.out.println(OK);
    }

    private static void batches(Path library) throws IOException {
        try (Compute cpu = Compute.serial();
                SentenceEncoder encoder = MiniLm.load(cpu, library)) {
            List<String> even = Collections.nCopies(16, "the ".repeat(254));
            List<String> ragged = IntStream.range(0, 100)
                    .mapToObj(i -> "the ".repeat(i * 37 % 31))
                    .toList();
            require(encoder.tokenizer().count(even.getFirst()) == 254, "tokens of a text: not 254");
            long before = used();
            requireResultsAlone(encoder, even.subList(0, 2));
            long held = cpu.heldBytes();
            requireResultsAlone(encoder, even);
            require(
                    cpu.heldBytes() == held,
                    "scratch: " + cpu.heldBytes() + " bytes; expected " + held + ", as after one batch");
            requireResultsAlone(encoder, ragged);
            long more = used() - before;
            // a batch of 512 tokens has 4.7 MB of activations and 3.2 MB of scratch, twice that if arrays fill whole
            // regions of the heap, and classes; activations of all 4096 tokens, rows of 384, 384 and 1536 floats, would
            // be 38 MB
            require(more < 25_000_000, "a batch: " + more + " bytes; expected less than 25 MB");
        }
    }

    /** Embeds until a call allocates only its vectors, and less than an object per token. */
    private static void requireResultsAlone(SentenceEncoder encoder, List<String> texts) {
        long tokens = texts.stream().mapToLong(encoder.tokenizer()::count).sum();
        long results = texts.size() * (16 + 4L * encoder.dimension());
        long allocated = WarmCalls.allocatedBytes(results + 16 * tokens, () -> {
            float[][] vectors = encoder.embed(texts);
            require(vectors.length == texts.size(), "vectors: " + vectors.length + "; expected " + texts.size());
        });
        require(
                allocated <= results + 16 * tokens,
                "a call: " + allocated + " bytes allocated; expected " + results + " of results");
    }

    /** Returns the bytes of reachable objects and of native memory. */
    private static long used() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() + NativeMemory.allocated();
    }

    private static void openings(Path folder) throws Exception {
        Path model = TinyModel.write(folder.resolve("model"));
        Path file = model.resolveSibling("packed");
        // a thread keeps native memory for the names of two files
        Files.move(Files.createFile(file), file.resolveSibling("other"));
        // these classes keep 41 KB of native memory for trials after they are initialized
        Class.forName(MacroKernel.class.getPackageName() + ".TileWarmUps");
        Class.forName(F32Panels.class.getName());
        Class.forName(BlockScales.class.getName());
        Class.forName(ColumnMajorB.class.getName());
        long before = NativeMemory.allocated();
        embedOnce(model, file);
        long after = NativeMemory.after(System::gc, bytes -> bytes == before);
        require(after == before, "native memory: " + (after - before) + " bytes left; expected 0");
    }

    private static void embedOnce(Path model, Path file) throws IOException {
        long before = NativeMemory.allocated();
        try (Compute cpu = Compute.threads(2)) {
            SentenceEncoder loaded = SentenceEncoder.load(cpu, model);
            loaded.write(file);
            SentenceEncoder mapped = SentenceEncoder.map(cpu, file);
            for (SentenceEncoder encoder : List.of(loaded, mapped)) {
                encoder.embed(List.of("abc de", "f"));
            }
            long held = NativeMemory.allocated();
            long panels = 4 * 2 * (21 * 64 + 21 * 32 + 21 * 64 + 37 * 32);
            require(held - before >= panels, "native memory: no packed matrices; expected them");
            requireMapped(true, model, file);
            loaded.close();
            mapped.close();
            requireMapped(false, model, file);
            require(
                    held - NativeMemory.allocated() >= panels,
                    "native memory: " + (held - NativeMemory.allocated()) + " bytes freed; expected " + panels);
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
