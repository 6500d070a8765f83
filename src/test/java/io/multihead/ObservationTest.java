package io.multihead;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.LongStream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Flight recorder events are written, and each slow condition of the JVM causes one warning. */
class ObservationTest {
    @TempDir
    Path folder;

    @Test
    void recordsCallsOnlyWhenAskedTo() throws IOException {
        assertEquals(0, record(false).size());
        List<RecordedEvent> events = record(true);
        assertEquals(
                List.of("io.multihead.Attention", "io.multihead.Attention", "io.multihead.Gemm"),
                events.stream().map(event -> event.getEventType().getName()).toList());
        for (int i = 0; i < 2; i++) {
            assertEquals(i == 1, events.get(i).getBoolean("backward"));
            assertEquals(4, events.get(i).getLong("queryHeads"));
            assertEquals(2, events.get(i).getLong("keyValueHeads"));
            assertEquals(9, events.get(i).getLong("keys"));
            assertEquals(2 * 5, events.get(i).getLong("queries"));
            assertTrue(events.get(i).getLong("tasks") > 0);
        }
        assertTrue(events.get(2).getLong("tasks") > 0);
        assertEquals(6, events.get(2).getLong("rows"));
        assertEquals(7, events.get(2).getLong("columns"));
        assertEquals(8, events.get(2).getLong("depth"));
    }

    private List<RecordedEvent> record(boolean asked) throws IOException {
        Path file = folder.resolve(asked + ".jfr");
        try (Recording recording = new Recording()) {
            if (asked) {
                recording.enable("io.multihead.Attention");
                recording.enable("io.multihead.Gemm");
            }
            recording.start();
            call(AttentionOptions.DEFAULT);
            goBack();
            Gemm.multiply(Compute.serial(), zeros(6, 8), zeros(8, 7), zeros(6, 7), GemmOptions.DEFAULT);
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("io.multihead"))
                .sorted(Comparator.comparing(RecordedEvent::getStartTime))
                .toList();
    }

    private static void goBack() {
        Tensor query = zeros(2, 4, 5, 3);
        Tensor key = zeros(2, 2, 9, 3);
        AttentionOutputs outputs = AttentionOutputs.of(query).withLogSumExp(zeros(2, 4, 5));
        AttentionPass pass = new AttentionPass(query, key, key, outputs, AttentionOptions.DEFAULT);
        AttentionGradients gradients = AttentionGradients.of(zeros(2, 4, 5, 3), zeros(2, 2, 9, 3), zeros(2, 2, 9, 3));
        Attention.backward(Compute.serial(), pass, zeros(2, 4, 5, 3), gradients);
    }

    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) LongStream.of(dims).reduce(1, (a, b) -> a * b)], dims);
    }

    private static void call(AttentionOptions options) {
        Tensor key = zeros(2, 2, 9, 3);
        Attention.forward(Compute.serial(), zeros(2, 4, 5, 3), key, key, zeros(2, 4, 5, 3), options);
    }

    /** Makes two calls in a separate JVM, which logs the message once. */
    public static void main(String[] arguments) {
        for (int i = 0; i < 2; i++) {
            call(AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withModifier((b, h, q, k, s) -> s)));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "-XX:TieredStopAtLevel=1, optimizing compiler",
        "-XX:-UseFMA, fused multiply-add",
        "-Dio.multihead.lanes=128, less than 256 bits",
        "-Xss2m, score modifier"
    })
    void saysOnceWhatIsSlow(String flag, String words) throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(ObservationTest.class, List.of(flag));
        assertEquals(1, lines.stream().filter(line -> line.contains(words)).count(), lines.toString());
    }
}
