package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class WeightErrorsTest {
    /** For the scores of a few texts, formats with fewer bits have larger errors. */
    @Test
    void fewerBitsLoseMore() throws IOException {
        StringBuilder lines = new StringBuilder();
        new WeightErrors(line -> lines.append(line).append('\n'))
                .scores(Fables.read().first(4).sentences());
        List<Double> errors = lines.toString()
                .lines()
                .skip(2)
                .map(line -> Double.valueOf(line.split("\\|")[3].strip()))
                .toList();
        assertEquals(7, errors.size());
        assertTrue(errors.get(1) < errors.get(0) && errors.get(0) < errors.get(2), "f16, bf16, Q8_0: " + errors);
        assertTrue(errors.get(2) < errors.get(3) && errors.get(4) < errors.get(6), "Q8_0, Q5, Q4: " + errors);
    }

    @Test
    void aJarWithoutAModelIsNamed() {
        assertEquals(1, command().execute(Path.of("target/absent.jar").toString()));
        assertEquals(2, command().execute("--texts", "many"));
    }

    private static CommandLine command() {
        return Commands.of(new WeightErrors(line -> {}))
                .setErr(new PrintWriter(Writer.nullWriter()))
                .setOut(new PrintWriter(Writer.nullWriter()));
    }
}
