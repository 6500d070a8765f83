package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.support.ChildJvm;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The required contents of a file, and the memory during loading. */
class GgufLoaderTest {
    private static final int MOST_BYTES = 600;

    @TempDir
    private Path folder;

    private FamilyFile family = new FamilyFile(Kind.QWEN_2, 4);

    /** Writes the file with the tensors that {@code kept} accepts, and with the additions of {@code change}. */
    private Path write(Predicate<String> kept, Consumer<GgufWriter> change) throws IOException {
        Path file = folder.resolve("model.gguf");
        GgufWriter writer = family.metadata();
        List<String> names = new ArrayList<>(family.matrices());
        names.addAll(family.others());
        names.stream().filter(kept).forEach(name -> writer.tensor(name, family.tensor(name)));
        change.accept(writer);
        writer.write(file);
        return file;
    }

    private static String message(Path file) {
        try (Compute cpu = Compute.serial()) {
            return assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, file))
                    .getMessage();
        }
    }

    private void assertFails(String expected, Predicate<String> kept, Consumer<GgufWriter> change) throws IOException {
        Path file = write(kept, change);
        String message = message(file);
        assertTrue(message.startsWith(file + ": " + expected), message);
    }

    @Test
    void aMissingTensorIsNamed() throws IOException {
        assertFails(
                "tensor \"blk.1.attn_k.weight\": not in the file",
                name -> !name.equals("blk.1.attn_k.weight"),
                writer -> {});
        assertFails(
                "tensor \"blk.2.attn_v.bias\": not in the file",
                name -> !name.equals("blk.2.attn_v.bias"),
                writer -> {});
        assertFails(
                "tensor \"token_embd.weight\": not in the file", name -> !name.startsWith("token_embd"), writer -> {});
    }

    @Test
    void aTensorOfNoUseIsNamed() throws IOException {
        assertFails(
                "tensors: 1 of no use, such as blk.0.attn_sinks.weight",
                name -> true,
                writer -> writer.tensor("blk.0.attn_sinks.weight", Tensor.of(new float[4])));
    }

    @Test
    void aTensorOfAnotherShapeIsNamed() throws IOException {
        assertFails(
                "tensor \"blk.0.attn_q.weight\": F32 [32, 64]; expected floating numbers of shape [64, 64]",
                name -> !name.equals("blk.0.attn_q.weight"),
                writer -> writer.tensor("blk.0.attn_q.weight", Tensor.of(new float[32 * 64], 32, 64)));
    }

    @Test
    void aTensorOfAnotherTypeIsNamed() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Tensor bytes = Tensor.zeros(arena, DType.I8, 64, 64);
            assertFails(
                    "tensor \"blk.0.attn_q.weight\": I8 [64, 64]; expected floating numbers",
                    name -> !name.equals("blk.0.attn_q.weight"),
                    writer -> writer.tensor("blk.0.attn_q.weight", bytes));
        }
    }

    @Test
    void aMissingOrWrongSettingIsNamed() throws IOException {
        Path file = folder.resolve("settings.gguf");
        new GgufWriter()
                .put("general.architecture", GgufValue.ofString("llama"))
                .write(file);
        assertTrue(message(file).contains("llama.attention.head_count: not in the file"), message(file));
        new GgufWriter()
                .put("general.architecture", GgufValue.ofString("rwkv7"))
                .write(file);
        assertTrue(
                message(file).startsWith(file + ": general.architecture: STRING \"rwkv7\"; expected one of "),
                message(file));
        assertFails("qwen2.rope.scaling.type: STRING \"dynamic\"; expected", name -> true, writer -> writer.put(
                        "qwen2.rope.scaling.type", GgufValue.ofString("dynamic"))
                .put("qwen2.rope.scaling.factor", GgufValue.ofF32(4)));
        assertFails(
                "qwen2.hidden_act: ",
                name -> true,
                writer -> writer.put("qwen2.hidden_act", GgufValue.ofString("relu")));
    }

    @Test
    void positionsThatAreNotKnownAreNamed() throws IOException {
        String type = "qwen2.rope.scaling.type";
        assertFails(
                "qwen2.rope.scaling.attn_factor: F32 1.2",
                name -> true,
                writer -> writer.put("qwen2.rope.scaling.attn_factor", GgufValue.ofF32(1.2F)));
        assertFails(
                "qwen2.rope.dimension_sections: ",
                name -> true,
                writer -> writer.put("qwen2.rope.dimension_sections", GgufValue.ofIntegers(GgufType.I32, 4, 4, 4, 4)));
        assertFails(
                type + ": STRING \"linear\"; expected none beside rope_freqs.weight",
                name -> true,
                writer -> writer.tensor("rope_freqs.weight", Tensor.of(new float[8]))
                        .put(type, GgufValue.ofString("linear"))
                        .put("qwen2.rope.scaling.factor", GgufValue.ofF32(2)));
        assertFails(
                "rope_freqs.weight: shape [5]; expected [8]",
                name -> true,
                writer -> writer.tensor("rope_freqs.weight", Tensor.of(new float[5])));
        assertFails(
                type + ": F32 2.0; expected a string", name -> true, writer -> writer.put(type, GgufValue.ofF32(2)));
    }

    @Test
    void whatPhiNeedsIsNamed() throws IOException {
        family = new FamilyFile(Kind.PHI_4, 4);
        assertFails(
                "tensor \"blk.1.attn_qkv.weight\": not in the file",
                name -> !name.equals("blk.1.attn_qkv.weight"),
                writer -> {});
        assertFails(
                "tensor \"blk.0.ffn_up.weight\": F32 [191, 64]; expected floating numbers of shape [190, 64]",
                name -> !name.equals("blk.0.ffn_up.weight"),
                writer -> writer.tensor("blk.0.ffn_up.weight", Tensor.of(new float[191 * 64], 191, 64)));
        assertFails(
                "rope_factors_short.weight: shape [5]; expected [6]",
                name -> !name.startsWith("rope_factors_short"),
                writer -> writer.tensor("rope_factors_short.weight", Tensor.of(new float[5])));
        String message = message(write(name -> !name.startsWith("rope_factors_long"), writer -> {}));
        assertTrue(message.contains("rope_factors_long.weight"), message);
        assertFails(
                "phi3.rope.scaling.type: STRING \"yarn\"; expected longrope beside rope_factors_long.weight",
                name -> true,
                writer -> writer.put("phi3.rope.scaling.type", GgufValue.ofString("yarn")));
    }

    @Test
    void ofSeveralChatTemplatesTheDefaultCounts() throws IOException {
        String chatml = "{{ messages[0].content }}!";
        ChatPrompt chat = ChatPrompt.of(List.of(ChatMessage.user("Hi")));
        GgufValue names = GgufValue.ofStrings(List.of("tool_use", "rag"));
        Path several = write(name -> true, writer -> writer.put("tokenizer.chat_templates", names)
                .put("tokenizer.chat_template.tool_use", GgufValue.ofString("tools"))
                .put("tokenizer.chat_template.rag", GgufValue.ofString("documents"))
                .put("tokenizer.chat_template", GgufValue.ofString(chatml)));
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, several)) {
            assertEquals("Hi!", model.chatTemplate().render(chat).toString());
        }
        Path byName = write(name -> true, writer -> writer.put(
                        "tokenizer.chat_templates", GgufValue.ofStrings(List.of("tool_use", "default")))
                .put("tokenizer.chat_template.default", GgufValue.ofString(chatml)));
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, byName)) {
            assertEquals("Hi!", model.chatTemplate().render(chat).toString());
        }
        Path without = write(name -> true, writer -> writer.put("tokenizer.chat_templates", names)
                .put("tokenizer.chat_template.tool_use", GgufValue.ofString("tools")));
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, without)) {
            String message = assertThrows(IllegalArgumentException.class, model::chatTemplate)
                    .getMessage();
            assertEquals(
                    "chat_template: none but those named tool_use, rag; expected one named default, or LanguageModel.withChatTemplate",
                    message);
            assertEquals(
                    ChatTemplate.CHATML,
                    model.withChatTemplate(ChatTemplate.CHATML).chatTemplate());
        }
    }

    @Test
    void aTokenizerOfMoreTokensThanEmbeddingsIsNamed() throws IOException {
        assertFails(
                "tokenizer: 261 tokens; expected at most the 100",
                name -> !name.startsWith("token_embd"),
                writer -> writer.tensor("token_embd.weight", Tensor.of(new float[100 * 64], 100, 64)));
    }

    @Test
    void aPathWithNothingThereIsNamed() {
        Path none = folder.resolve("none.gguf");
        String message = assertThrows(NoSuchFileException.class, () -> LanguageModel.load(Compute.serial(), none))
                .getMessage();
        assertEquals(
                none
                        + ": nothing there; expected a GGUF file, or a folder with config.json, a tokenizer and model.safetensors"
                        + "; get one by: hf download OWNER/NAME none.gguf --local-dir " + folder,
                message);
        Path here = Path.of("no-such-model.gguf");
        assertTrue(assertThrows(NoSuchFileException.class, () -> LanguageModel.load(Compute.serial(), here))
                .getMessage()
                .endsWith("; get one by: hf download OWNER/NAME no-such-model.gguf --local-dir ."));
    }

    @Test
    void aFolderOfAGgufFileIsNamedWithIt() throws IOException {
        Path file = write(name -> true, writer -> {});
        Path inside = Files.createDirectory(folder.resolve("inside"));
        Files.copy(file, inside.resolve("model-Q8_0.gguf"));
        String message = assertThrows(NoSuchFileException.class, () -> LanguageModel.load(Compute.serial(), inside))
                .getMessage();
        assertEquals(
                inside + ": a folder with model-Q8_0.gguf, no config.json; expected a GGUF file, or a folder with"
                        + " config.json, a tokenizer and model.safetensors; get one by: hf download OWNER/NAME --local-dir "
                        + inside,
                message);
    }

    @Test
    void aFileThatIsCutIsNamed() throws IOException {
        Path file = write(name -> true, writer -> {});
        byte[] bytes = Files.readAllBytes(file);
        for (int length : new int[] {0, 10, 30, 1000, bytes.length / 2, bytes.length - 1}) {
            Path cut = folder.resolve("cut" + length + ".gguf");
            Files.write(cut, Arrays.copyOf(bytes, length));
            assertTrue(message(cut).startsWith(cut + ": "), message(cut));
        }
    }

    @Test
    void aFailedLoadFreesItsMemory() throws IOException {
        Path file = write(name -> !name.equals("output_norm.weight"), writer -> {});
        for (int i = 0; i < 3; i++) {
            assertTrue(message(file).contains("tensor \"output_norm.weight\": not in the file"), message(file));
        }
    }

    @Test
    void scaledPositionsOfAFileAreRead() throws IOException {
        Path file = write(name -> true, writer -> writer.put("qwen2.rope.scaling.type", GgufValue.ofString("yarn"))
                .put("qwen2.rope.scaling.factor", GgufValue.ofF32(4))
                .put("qwen2.rope.scaling.original_context_length", GgufValue.ofInteger(GgufType.U32, 32)));
        Path plain = folder.resolve("plain.gguf");
        family.write(plain);
        try (Compute cpu = Compute.serial();
                LanguageModel scaled = LanguageModel.load(cpu, file);
                LanguageModel unscaled = LanguageModel.load(cpu, plain)) {
            assertTrue(logit(scaled) != logit(unscaled));
        }
    }

    private static float logit(LanguageModel model) {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            return session.append(5, 6, 7, 8, 9).nextLogits()[20];
        }
    }

    @Test
    void listenersHearEveryPart() throws IOException {
        List<Integer> heard = new ArrayList<>();
        Path file = write(name -> true, writer -> {});
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, file, LoadOptions.DEFAULT.withListener((done, all) -> {
                    assertEquals(5, all);
                    heard.add(done);
                }))) {
            assertEquals(List.of(1, 2, 3, 4, 5), heard);
            assertTrue(model.ownBytes() > 100_000);
            assertEquals(261 * 64 * 4, model.mappedBytes());
            assertEquals("qwen2 (qwen2, 3 layers of 64, 4 heads on 2)", model.toString());
        }
    }

    /**
     * A token allocates a string, an object for the listener and an object for the list, and these do not grow with the model. The test
     * runs in a separate JVM, because C2's inlining depends on the calls of other tests.
     */
    @Test
    void aTokenLeavesItsTextAndNothingElse() throws IOException, InterruptedException {
        Path file = write(name -> true, writer -> {});
        List<String> lines = ChildJvm.run(Garbage.class, List.of(ChildJvm.FOREGROUND), file.toString());
        double bytes = lines.stream()
                .filter(line -> line.startsWith("bytes "))
                .mapToDouble(line -> Double.parseDouble(line.substring(6)))
                .findFirst()
                .orElseThrow();
        assertTrue(bytes <= MOST_BYTES, bytes + " bytes a token");
    }

    /** Prints the fewest bytes that a token allocated. */
    public static final class Garbage {
        private static final int TOKENS = 60;

        private Garbage() {}

        public static void main(String[] file) throws IOException {
            try (Compute cpu = Compute.serial();
                    LanguageModel model = LanguageModel.load(cpu, Path.of(file[0]));
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                    Session session = sessions.open().append(5, 6, 7)) {
                GenerationOptions drawn =
                        GenerationOptions.DEFAULT.withMaxTokens(TOKENS).withSampling(Sampling.of(1, 1));
                long bytes = WarmCalls.allocatedBytes(MOST_BYTES * TOKENS, () -> {
                    session.truncate(3);
                    session.generate(drawn);
                });
                System.out.println("bytes " + (double) bytes / TOKENS);
            }
        }
    }
}
