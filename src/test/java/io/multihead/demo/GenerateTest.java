package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.decoder.FamilyModel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GenerateTest {
    private static final String TEMPLATE =
            "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
                    + " + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

    /**
     * The tokens of the prompt: a begin token, two marks of a space with three bytes each, four letters with five
     * bytes, and the euro sign with three bytes.
     */
    private static final int PROMPT_TOKENS = 1 + 2 * 3 + 5 + 3;

    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return chat("", arguments);
    }

    /** Runs the program with lines as its standard input. */
    private int chat(String lines, String... arguments) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        InputStream in = new ByteArrayInputStream(lines.getBytes(StandardCharsets.UTF_8));
        return Generate.run(in, new PrintWriter(out), new PrintWriter(err), arguments);
    }

    private String chatModel() throws IOException {
        Path file = folder.resolve("chat.gguf");
        FamilyModel.writeChat(file, TEMPLATE);
        return file.toString();
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
    void aPromptWithoutATokenIsNamed() throws IOException {
        Path file = folder.resolve("empty.gguf");
        FamilyModel.writeWithoutBegin(file, FamilyModel.PLAIN_TEMPLATE);
        assertEquals(2, run("--model", file.toString(), "--prompt", ""));
        assertTrue(err.toString().contains("--prompt: \"\" has no tokens; expected at least one"), err.toString());
        assertEquals(0, run("--model", model(), "--prompt", "", "--max-tokens", "1"), err.toString());
    }

    @Test
    void wrongOptionsAreNamed() throws IOException {
        assertEquals(2, run("--model", "a.gguf"));
        assertEquals(
                List.of("--prompt or --chat: absent; expected one of them", "--help lists the options"),
                err.toString().lines().toList());
        err.getBuffer().setLength(0);
        assertEquals(2, run("--model", "a.gguf", "--prompt", "a", "--top-p", "2"));
        assertTrue(err.toString().startsWith("--top-p: 2.0; expected 0 to 1"), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(2, run("--model", "a.gguf", "--prompt", "a", "--system", "b"));
        assertTrue(err.toString().startsWith("--system: given without --chat"), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(2, run("--model", "a.gguf", "--prompt", "a", "--chat-template", "chatml"));
        assertTrue(err.toString().startsWith("--chat-template: given without --chat"), err.toString());
        err.getBuffer().setLength(0);
        assertEquals(2, run("--model", "a.gguf", "--chat", "--chat-template", "gpt"));
        assertTrue(err.toString().contains("expected one of [llama_3, llama_3_1, chatml, "), err.toString());
    }

    @Test
    void wrongOptionsAreNamedAsTheyAreGiven() throws IOException {
        for (String[] each : new String[][] {
            {"--max-tokens", "0"},
            {"--temperature", "-1"},
            {"--top-k", "-1"},
            {"--min-p", "2"},
            {"--repetition-penalty", "0"},
            {"--presence-penalty", "NaN"},
            {"--draft-tokens", "-1"},
            {"--context", "-1"},
            {"--context", "1000000"},
            {"--threads", "0"}
        }) {
            assertEquals(2, run("--model", model(), "--prompt", "a", each[0], each[1]), each[0]);
            assertTrue(err.toString().lines().anyMatch(line -> line.startsWith(each[0] + ": ")), err.toString());
        }
        assertEquals(2, run("--model", model(), "--prompt", "a", "--stop", ""));
        assertTrue(err.toString().startsWith("--stop[0]: empty"), err.toString());
    }

    @Test
    void anEmptyLineEndsNoChat() throws IOException {
        assertEquals(0, chat("Hi\n\n  \nAnd?\n", "--model", chatModel(), "--chat", "--max-tokens", "4"));
        assertEquals(2, answers(), err.toString());
    }

    private long answers() {
        return err.toString().lines().filter(line -> line.contains("; prompt ")).count();
    }

    @Test
    void aFullContextDropsTheOldestMessagesAndSaysSo() throws IOException {
        String question = "x".repeat(20) + "\n";
        assertEquals(
                0,
                chat(question.repeat(8), "--model", chatModel(), "--chat", "--max-tokens", "4", "--system", "Brief."));
        assertEquals(8, answers(), err.toString());
        assertTrue(
                err.toString().contains("oldest messages dropped: a context of 128 tokens has no room for them"),
                err.toString());
    }

    @Test
    void aQuestionThatIsTooLongIsNamedAndTheChatGoesOn() throws IOException {
        String lines = "Hi\n" + "x".repeat(500) + "\nAnd?\n";
        assertEquals(1, chat(lines, "--model", chatModel(), "--chat", "--max-tokens", "4"));
        assertEquals(2, answers(), err.toString());
        assertTrue(err.toString().contains("tokens after 0; expected a context of at most 128"), err.toString());
    }

    @Test
    void aFileThatCannotChatFailsBeforeAQuestion() throws IOException {
        assertEquals(1, chat("Hi\n", "--model", model(), "--chat"));
        assertTrue(
                err.toString()
                        .contains("generate: chat_template: absent; expected one in the file, or --chat-template"),
                err.toString());
        assertTrue(!err.toString().contains("> "), err.toString());
    }

    @Test
    void argumentsAreReadInUtf8() throws IOException {
        String euro = "5 \u20ac";
        byte[] line = ("java\0-jar\0a.jar\0--prompt\0" + euro + "\0").getBytes(StandardCharsets.UTF_8);
        assertArrayEquals(new String[] {"--prompt", euro}, Arguments.ofCommandLine(line, "--prompt", "5 ???"));
        assertThrows(IllegalArgumentException.class, () -> Arguments.ofCommandLine(line, "--other", "5 ???"));
        assertThrows(IllegalArgumentException.class, () -> Arguments.ofCommandLine(line, new String[9]));
        byte[] latin = "--prompt\0\u00e9\0".getBytes(StandardCharsets.ISO_8859_1);
        assertThrows(CharacterCodingException.class, () -> Arguments.ofCommandLine(latin, "--prompt", "?"));
    }

    /** A JVM with the locale C reads other characters than the characters on the command line. */
    @Test
    void theLocaleDoesNotChangeAPrompt() throws Exception {
        Assumptions.assumeTrue(Files.exists(Path.of("/proc/self/cmdline")));
        List<String> texts = new ArrayList<>();
        for (String locale : List.of("C", "C.UTF-8")) {
            // the shell writes the bytes of an e with an accent and of the euro sign, so that this JVM's locale has no
            // effect
            ProcessBuilder jvm = new ProcessBuilder(
                    "sh",
                    "-c",
                    "exec \"$@\" --prompt \"$(printf 'caf\\303\\251 \\342\\202\\254')\"",
                    "sh",
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "--add-modules",
                    "jdk.incubator.vector",
                    "-cp",
                    System.getProperty("java.class.path"),
                    Generate.class.getName(),
                    "--model",
                    model(),
                    "--threads",
                    "1",
                    "--max-tokens",
                    "8");
            jvm.environment().put("LC_ALL", locale);
            Path errors = folder.resolve("err-" + locale);
            Process process = jvm.redirectError(errors.toFile()).start();
            process.getOutputStream().close();
            texts.add(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            assertEquals(0, process.waitFor(), Files.readString(errors));
            assertTrue(
                    Files.readString(errors).contains("; prompt " + PROMPT_TOKENS + " tokens, "),
                    Files.readString(errors));
        }
        assertEquals(texts.get(0), texts.get(1));
    }

    @Test
    void aFailureIsOneLine() throws IOException {
        assertEquals(1, run("--model", folder.resolve("none.gguf").toString(), "--prompt", "a"));
        assertEquals(1, err.toString().lines().count(), err.toString());
        assertTrue(err.toString().startsWith("generate: NoSuchFileException: "), err.toString());
        assertTrue(
                err.toString().contains("; get one by: hf download OWNER/NAME none.gguf --local-dir "), err.toString());
        err.getBuffer().setLength(0);
        Path text = Files.writeString(folder.resolve("text.gguf"), "This text is no model, and longer than a header.");
        assertEquals(1, run("--model", text.toString(), "--prompt", "a"));
        assertEquals(1, err.toString().lines().count(), err.toString());
        assertTrue(err.toString().contains("text.gguf: file: begins with the text \"This text"), err.toString());
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
