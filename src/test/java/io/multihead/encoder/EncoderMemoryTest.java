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

/** Memory and mapped files of encoders, in separate JVMs. */
@Execution(ExecutionMode.CONCURRENT)
class EncoderMemoryTest {
    private static final String OK = "result: ok";
    private static final String BATCHES = "batches";
    /** Without it threads keep a buffer of native memory for the next file that they read. */
    private static final String NO_FILE_BUFFERS = "-Djdk.nio.maxCachedBufferSize=0";

    private static final Path MAPS = Path.of("/proc/self/maps");

    @TempDir
    Path folder;

    /**
     * A closed encoder has unmapped its file and freed its packed matrices at once, though it is in use as an object. Where the system does
     * not list mappings, packed matrices alone are checked.
     */
    @Test
    void nothingIsLeftOfAnEncoder() throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(
                EncoderMemoryTest.class, List.of(NativeMemory.TRACKING, NO_FILE_BUFFERS), folder.toString());
        assertEquals(List.of(OK), lines.stream().filter(OK::equals).toList(), lines.toString());
    }

    /**
     * 16 texts of 256 tokens, and 100 of 2 to 32, with MiniLM in a JVM with its default heap and collector: the memory of a batch, for any
     * number of texts, in addition to weights and tokenizer.
     *
     * <p>The limit of 0.3 GB for a batch, in addition to the weights, is asserted for used memory, because resident memory varies: a JVM's
     * first heap is a 64th of the machine's memory, the collector may use all of it before it collects, and the first batch leaves as much
     * garbage as trials of vectors allocate until C2 has compiled the kernels.
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
            require(encoder.tokenizer().count(even.getFirst()) == 254, "tokens of a text: another number");
            long before = used();
            requireResultsAlone(encoder, even.subList(0, 2));
            long held = cpu.heldBytes();
            requireResultsAlone(encoder, even);
            require(
                    cpu.heldBytes() == held,
                    "scratch: " + cpu.heldBytes() + " bytes; expected " + held + ", those of one batch");
            requireResultsAlone(encoder, ragged);
            long more = used() - before;
            // 4.7 MB of activations and 3.2 MB of scratch for 512 tokens, twice that where arrays fill whole regions
            // of the heap, and classes; activations of all 4096 tokens, rows of 384, 384 and 1536 floats, are 38 MB
            require(more < 25_000_000, "a batch: " + more + " bytes; expected less than 25 MB");
        }
    }

    /** Embeds until a call has allocated its vectors, and less than an object for each token. */
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

    /** Returns the bytes of objects that are alive and of native memory. */
    private static long used() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() + NativeMemory.allocated();
    }

    private static void openings(Path folder) throws Exception {
        Path model = TinyModel.write(folder.resolve("model"));
        Path file = model.resolveSibling("packed");
        // a thread keeps native memory for two names of files
        Files.move(Files.createFile(file), file.resolveSibling("other"));
        // initialized, they keep 41 KB of native memory for trials
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
