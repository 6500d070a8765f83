package io.multihead.jmh.bench;

import com.sun.management.OperatingSystemMXBean;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.jmh.data.RandomDecoder;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * Measures the time of a new JVM to load a language model of 1B weights in Q8_0 or its packed file, and to compute its
 * first logits, and the peak of resident memory. A copy of the file in memory is also measured.
 */
public final class LoadTime {
    private static final Path FOLDER = Path.of("jmh/target/models");

    private LoadTime() {}

    /** Prints a line. The argument is {@code copy}, {@code load}, {@code write} or {@code map}. */
    public static void main(String[] arguments) throws IOException {
        String mode = arguments[0];
        Path file = RandomDecoder.file(FOLDER, RandomDecoder.Model.LLAMA3_1B, "Q8_0");
        Path packed = FOLDER.resolve("LLAMA3_1B.packed");
        long start = System.nanoTime();
        if (mode.equals("copy")) {
            copy(file);
            print(mode, start, "");
            return;
        }
        try (Compute cpu = Compute.threads(2);
                LanguageModel model =
                        mode.equals("map") ? LanguageModel.map(cpu, packed) : LanguageModel.load(cpu, file)) {
            if (mode.equals("write")) {
                model.write(packed);
                print(mode, start, "");
                return;
            }
            String loaded = String.format(", loaded after %.2f s", (System.nanoTime() - start) / 1e9);
            try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withContextTokens(512));
                    Session session = sessions.open()) {
                session.append("Once upon a time").nextLogits();
            }
            double begun = ManagementFactory.getRuntimeMXBean().getStartTime();
            double logits = (System.currentTimeMillis() - begun) / 1e3;
            print(mode, start, loaded + String.format(", first logits %.2f s after the JVM began", logits));
        }
    }

    private static void copy(Path file) throws IOException {
        try (Arena arena = Arena.ofShared();
                FileChannel channel = FileChannel.open(file)) {
            MemorySegment from = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            arena.allocate(channel.size()).copyFrom(from);
        }
    }

    private static void print(String mode, long start, String more) throws IOException {
        double seconds = (System.nanoTime() - start) / 1e9;
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.printf(
                "%s: %.2f s%s; processor time %.2f s, peak of memory %.0f MB%n",
                mode, seconds, more, system.getProcessCpuTime() / 1e9, FreshEmbedding.peak());
    }
}
