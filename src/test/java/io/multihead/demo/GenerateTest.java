package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.decoder.FamilyModel;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GenerateTest {
    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return Generate.run(new PrintWriter(out), new PrintWriter(err), arguments);
    }

    private String model() throws IOException {
        Path file = folder.resolve("model.gguf");
        FamilyModel.write(file);
        return file.toString();
    }

    @Test
    void aPromptIsContinued() throws IOException {
        assertEquals(0, run("--model", model(), "--prompt", "ab", "--max-tokens", "5", "--threads", "1"));
        String first = out.toString();
        assertTrue(err.toString().contains("; prompt 6 tokens, "), err.toString());
        assertTrue(err.toString().contains("MiB mapped"), err.toString());
        out.getBuffer().setLength(0);
        assertEquals(0, run("--model", model(), "--prompt", "ab", "--max-tokens", "5", "--threads", "2"));
        assertEquals(first, out.toString());
    }

    @Test
    void wrongOptionsAreNamed() throws IOException {
        assertEquals(2, run("--model", "a.gguf"));
        assertEquals(
                List.of("--prompt or --chat: absent; expected one of them", "--help lists the options"),
                err.toString().lines().toList());
        err.getBuffer().setLength(0);
        assertEquals(2, run("--model", "a.gguf", "--prompt", "a", "--top-p", "2"));
        assertTrue(err.toString().startsWith("topP: 2.0; expected 0 to 1"), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(2, run("--model", "a.gguf", "--prompt", "a", "--system", "b"));
        assertTrue(err.toString().startsWith("--system: given without --chat"), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(2, run("--model", "a.gguf", "--prompt", "a", "--chat-template", "chatml"));
        assertTrue(err.toString().startsWith("--chat-template: given without --chat"), err.toString());
    }

    @Test
    void aFailureIsOneLine() throws IOException {
        assertEquals(1, run("--model", folder.resolve("none.gguf").toString(), "--prompt", "a"));
        assertEquals(1, err.toString().lines().count(), err.toString());
        assertTrue(err.toString().startsWith("generate: NoSuchFileException: "), err.toString());
        err.getBuffer().setLength(0);
        Path text = Files.writeString(folder.resolve("text.gguf"), "This text is no model, and longer than a header.");
        assertEquals(1, run("--model", text.toString(), "--prompt", "a"));
        assertEquals(1, err.toString().lines().count(), err.toString());
        assertTrue(err.toString().contains("text.gguf: magic: "), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(1, run("--model", model(), "--chat", "--prompt", "a"));
        assertTrue(err.toString().contains("generate: chat_template: absent"), err.toString());
    }

    @Test
    void helpNamesEveryOption() {
        assertEquals(0, run("--help"));
        for (String option : new String[] {"--model", "--prompt", "--chat", "--temperature", "--seed", "--stop"}) {
            assertTrue(out.toString().contains(option), option);
        }
    }
}
