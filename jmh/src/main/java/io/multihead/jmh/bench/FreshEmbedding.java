package io.multihead.jmh.bench;

import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.onnx.allminilml6v2.AllMiniLmL6V2EmbeddingModel;
import io.multihead.langchain4j.MultiheadEmbeddingModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Measures the time from the start of a process to its first embedding by MiniLM, and the peak of its resident memory
 * at that time and after a batch of 32 texts of 8 to 126 tokens. The class is this library's implementation of
 * langchain4j's interface, or langchain4j's implementation, on one thread per processor.
 */
public final class FreshEmbedding {
    /** The figures that a JVM reports, each with the unit of the table. */
    static final String[] COLUMNS = {"first embedding, s", "peak memory then, MB", "peak memory of a batch, MB"};

    private FreshEmbedding() {}

    /**
     * Prints the numbers of {@link #COLUMNS}. The arguments are {@code langchain4j}, {@code multihead} or a packed file
     * of this library, and the start time of the process in milliseconds.
     */
    public static void main(String[] arguments) throws IOException {
        // the start time that the system reports is relative to a boot time in whole seconds
        long started = Long.parseLong(arguments[1]);
        EmbeddingModel model =
                arguments[0].equals("langchain4j") ? new AllMiniLmL6V2EmbeddingModel() : ours(arguments[0]);
        float[] first = model.embed("The first text of a service.").content().vector();
        double seconds = (System.currentTimeMillis() - started) * 1e-3;
        double then = peak();
        int vectors = model.embedAll(texts()).content().size();
        System.out.printf(Locale.ROOT, "%.3f %.1f %.1f%n", seconds, then, peak());
        // the threads of langchain4j do not end
        System.exit(first.length == 384 && vectors == 32 ? 0 : 1);
    }

    private static EmbeddingModel ours(String source) {
        MultiheadEmbeddingModel.Builder builder = MultiheadEmbeddingModel.allMiniLmL6V2()
                .threads(Runtime.getRuntime().availableProcessors());
        return source.equals("multihead")
                ? builder.build()
                : builder.packedFile(Path.of(source)).build();
    }

    private static List<TextSegment> texts() {
        List<TextSegment> texts = new ArrayList<>();
        for (int i = 0; i < 32; i++) {
            texts.add(TextSegment.from("word ".repeat(6 + i * 118 / 31)));
        }
        return texts;
    }

    /** Returns the peak of this JVM's resident memory in MB. */
    static double peak() throws IOException {
        String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(text -> text.startsWith("VmHWM:"))
                .findFirst()
                .orElseThrow();
        return Long.parseLong(line.replaceAll("\\D", "")) * 1024e-6;
    }
}
