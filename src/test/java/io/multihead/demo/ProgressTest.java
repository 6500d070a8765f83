package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Without a terminal, progress is one line per part. No time is estimated from too few steps. */
class ProgressTest {
    @Test
    void withoutATerminalEachPartIsOneLine() {
        StringWriter out = new StringWriter();
        try (Progress progress = new Progress("study", 2002, false, new PrintWriter(out))) {
            for (String part : List.of("first", "second")) {
                for (int i = 0; i < 1000; i++) {
                    progress.step("step " + i);
                }
                progress.finish(part);
            }
        }
        List<String> lines = out.toString().lines().toList();
        assertEquals(2, lines.size(), out.toString());
        assertTrue(lines.get(0).matches(" *\\d+\\.\\d s  first"), lines.get(0));
        assertTrue(lines.get(1).matches(" *\\d+\\.\\d s  second"), lines.get(1));
    }

    @Test
    void anEstimateNeedsATwentiethOfTheSteps() {
        Duration elapsed = Duration.ofSeconds(10);
        assertEquals(Optional.empty(), Progress.estimate(0, 10, elapsed));
        assertEquals(Optional.empty(), Progress.estimate(4, 100, elapsed));
        assertEquals(Optional.of(Duration.ofSeconds(190)), Progress.estimate(5, 100, elapsed));
        assertEquals(Optional.of(Duration.ZERO), Progress.estimate(100, 100, elapsed));
    }
}
