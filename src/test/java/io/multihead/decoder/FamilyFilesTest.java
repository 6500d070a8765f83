package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.Gguf;
import io.multihead.format.GgufWriter;
import io.multihead.format.Safetensors;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Models loaded from files of each family are compared with the specification, which is built separately from the same weights. */
class FamilyFilesTest {
    private static final double U = 0x1p-24;
    /** The number of terms of all sums in a block, one after the other: five products of at most 512 terms, and six norms of 256. */
    private static final int ROUNDINGS = 5 * 512 + 6 * 256;

    private static final int TOKENS = 20;

    private static final LoadOptions ROUNDED = LoadOptions.DEFAULT.withEightBitInputs(true);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(Kind.class)
    void logProbabilitiesAreThoseOfTheSpecification(Kind kind) throws IOException {
        FamilyFile file = new FamilyFile(kind, 5);
        Path path = folder.resolve("model.gguf");
        file.write(path);
        assertClose(file, path);
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {
                "LLAMA",
                "QWEN_2",
                "QWEN_3",
                "QWEN_3_MOE",
                "GEMMA_3",
                "SMOLLM_3",
                "PHI_4",
                "LFM_2",
                "QWEN_3_5",
                "QWEN_3_5_MOE",
                "GRANITE_HYBRID",
                "GRANITE_HYBRID_DENSE"
            })
    void foldersMeanWhatHuggingFacesModelsCompute(Kind kind) throws IOException {
        FamilyFile file = new FamilyFile(kind, 8).withHalves();
        file.writeFolder(folder, BytePieces.tokenizerJson());
        assertClose(file, folder);
    }

    /** The folder has the layout of the published Qwen 3.5. The parts for images and the layers for draft tokens are ignored. */
    @Test
    void theLanguageModelOfImagesAndTextsIsTaken() throws IOException {
        Path source = Files.createDirectory(folder.resolve("source"));
        FamilyFile file = new FamilyFile(Kind.QWEN_3_5, 8).withHalves();
        file.writeFolder(source, BytePieces.tokenizerJson());
        Path published = Files.createDirectory(folder.resolve("published"));
        Files.copy(source.resolve("tokenizer.json"), published.resolve("tokenizer.json"));
        String config = Files.readString(source.resolve("config.json"));
        Files.writeString(
                published.resolve("config.json"),
                "{\"model_type\": \"qwen3_5\", \"vision_config\": {\"depth\": 2}, \"text_config\": " + config + "}");
        try (Arena arena = Arena.ofConfined()) {
            Safetensors weights = Safetensors.map(arena, source.resolve("model.safetensors"));
            Map<String, Tensor> renamed = new LinkedHashMap<>();
            weights.names()
                    .forEach(name -> renamed.put(name.replace("model.", "model.language_model."), weights.get(name)));
            renamed.put("model.visual.pos_embed.weight", Tensor.of(new float[4]));
            renamed.put("mtp.fc.weight", Tensor.of(new float[4]));
            Safetensors.write(published.resolve("model.safetensors"), renamed, Map.of());
        }
        assertClose(file, published);
    }

    @Test
    void layersThatDraftTokensAreLeftOut() throws IOException {
        FamilyFile file = new FamilyFile(Kind.QWEN_3_5, 5);
        Path path = folder.resolve("model.gguf");
        Path plain = folder.resolve("plain.gguf");
        file.write(plain);
        try (Arena arena = Arena.ofConfined()) {
            Gguf without = Gguf.map(arena, plain);
            String layers = "qwen35.block_count";
            GgufWriter writer = new GgufWriter();
            without.keys().stream()
                    .filter(key -> !key.equals(layers))
                    .forEach(key -> writer.put(key, without.value(key)));
            writer.put(layers, FamilyFile.number(Kind.QWEN_3_5.layers + 1))
                    .put("qwen35.nextn_predict_layers", FamilyFile.number(1));
            without.names().forEach(name -> writer.tensor(name, file.tensor(name)));
            writer.tensor("blk." + Kind.QWEN_3_5.layers + ".nextn.eh_proj.weight", Tensor.of(new float[4], 2, 2));
            writer.write(path);
        }
        assertClose(file, path);
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"QWEN_3_MOE", "QWEN_3_5_MOE"})
    void expertsMayBeOneTensor(Kind kind) throws IOException {
        FamilyFile file = new FamilyFile(kind, 8).withHalves().withJoinedExperts();
        file.writeFolder(folder, BytePieces.tokenizerJson());
        assertClose(file, folder);
    }

    /** The id of an added token may be beyond the embedding table, as for the padding token of some finetuned models. */
    @Test
    void anAddedTokenMayHaveNoRow() throws IOException {
        String more = "{\"id\": 261, \"content\": \"<|more|>\", \"special\": true}, ";
        String json = BytePieces.tokenizerJson().replace("{\"added_tokens\": [", "{\"added_tokens\": [" + more);
        new FamilyFile(Kind.QWEN_3, 8).writeFolder(folder, json);
        try (Compute cpu = Compute.serial()) {
            try (LanguageModel model = LanguageModel.load(cpu, folder);
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                    Session session = sessions.open()) {
                assertEquals(262, model.tokenizer().vocabularySize());
                assertEquals(259, model.tokenizer().ownVocabularySize());
                assertEquals(261, model.vocabularySize());
                int added = model.tokenizer().find("<|more|>");
                String message = assertThrows(IllegalArgumentException.class, () -> session.append(added))
                        .getMessage();
                assertEquals("ids[0]: 261; expected 0 to 260", message);
                assertEquals(261, session.append("A text.").nextLogits().length);
                TextEmbedder embedder = model.embedder();
                assertEquals(embedder.dimension(), embedder.embed("A text.").length);
            }
            Files.writeString(
                    folder.resolve("tokenizer.json"), json.replace("\"<s>\": 1", "\"<s>\": 1, \"<|more|>\": 261"));
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, folder))
                    .getMessage();
            assertTrue(
                    message.endsWith("tokenizer: 262 tokens; expected at most the 261 of the model's embeddings"),
                    message);
        }
    }

    @Test
    void aHeadThatIsNeitherThereNorTiedIsNamed() throws IOException {
        FamilyFile file = new FamilyFile(Kind.QWEN_3, 8);
        file.writeFolder(folder, BytePieces.tokenizerJson());
        Path config = folder.resolve("config.json");
        String tied = Files.readString(config);
        Files.writeString(config, tied.replace("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"));
        try (Compute cpu = Compute.serial()) {
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, folder))
                    .getMessage();
            assertTrue(
                    message.contains("tensor \"lm_head.weight\": not in the file; expected it beside 35, such as ["),
                    message);
            Files.writeString(config, tied.replace("\"tie_word_embeddings\": true, ", ""));
            LanguageModel.load(cpu, folder).close();
        }
    }

    /** The folder has no head, although weights are not tied, and names have no prefix, as in Qwen3-Embedding 4B and 8B. */
    @Test
    void aModelForEmbeddingsNeedsNoHead() throws IOException {
        FamilyFile file = new FamilyFile(Kind.QWEN_3, 8);
        file.writeFolder(folder, BytePieces.tokenizerJson());
        try (Compute cpu = Compute.serial();
                Arena arena = Arena.ofConfined()) {
            float[] expected;
            try (LanguageModel model = LanguageModel.load(cpu, folder)) {
                expected = model.embedder().embed("A text.");
            }
            Path weights = folder.resolve("model.safetensors");
            Safetensors whole = Safetensors.map(arena, weights);
            Map<String, Tensor> stack = new LinkedHashMap<>();
            whole.names().forEach(name -> stack.put(name.substring("model.".length()), whole.get(name)));
            Path written = folder.resolve("written");
            Safetensors.write(written, stack, Map.of());
            Files.move(written, weights, StandardCopyOption.REPLACE_EXISTING);
            Path config = folder.resolve("config.json");
            String tied = Files.readString(config);
            Files.writeString(config, tied.replace("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"));
            try (LanguageModel model = LanguageModel.load(cpu, folder)) {
                assertArrayEquals(expected, model.embedder().embed("A text."));
                String message = assertThrows(IllegalStateException.class, () -> model.sessions(SessionOptions.DEFAULT))
                        .getMessage();
                assertEquals(
                        "model: no output head in its files; expected an output head, which only embeddings do not need",
                        message);
            }
        }
    }

    @Test
    void ofSeveralChatTemplatesOfAFolderTheDefaultCounts() throws IOException {
        new FamilyFile(Kind.QWEN_2, 8).writeFolder(folder, BytePieces.tokenizerJson());
        Path config = folder.resolve("tokenizer_config.json");
        String call = "<tool_call>{{ messages[1].tool_calls[0].function | tojson }}</tool_call>"
                + "{% for m in messages[2:] %}{{ m.content }}{% endfor %}";
        String list = "{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"{{ tools[0].function.name }}"
                + call + "\"}, " + "{\"name\": \"default\", \"template\": \"{{ messages[0].content }}!\"}]}";
        Files.writeString(config, list);
        try (Compute cpu = Compute.serial()) {
            try (LanguageModel model = LanguageModel.load(cpu, folder)) {
                ChatPrompt chat = ChatPrompt.of(List.of(ChatMessage.user("Hi")));
                assertEquals("Hi!", model.chatTemplate().render(chat).toString());
                List<ToolDefinition> tools = List.of(new ToolDefinition("look", "", "{}"));
                ToolCall look = new ToolCall("", "look", "{}");
                ChatPrompt called =
                        ChatPrompt.of(List.of(ChatMessage.user("Hi"), ChatMessage.assistant("", List.of(look))));
                assertEquals(
                        "look<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>",
                        model.chatTemplate().render(called.withTools(tools)).toString());
                assertEquals(Optional.of(ToolCallFormat.HERMES), ToolCallFormat.of(model.chatTemplate()));
            }
            Files.writeString(config, list.replace("default", "rag"));
            try (LanguageModel model = LanguageModel.load(cpu, folder)) {
                String message = assertThrows(IllegalArgumentException.class, model::chatTemplate)
                        .getMessage();
                assertTrue(message.contains("none but those named tool_use, rag"), message);
            }
            Files.writeString(config, list.replace("\"name\": \"default\", ", ""));
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, folder))
                    .getMessage();
            assertTrue(
                    message.endsWith(
                            "tokenizer_config.json: tokenizer_config.chat_template[1].name: null; expected a string"),
                    message);
        }
    }

    @ParameterizedTest
    @EnumSource(BlockType.class)
    void quantizedMatricesMeanWhatTheirBlocksSay(BlockType blocks) throws IOException {
        Kind[] kinds = blocks.elements() == 256
                ? new Kind[] {Kind.WIDE}
                : new Kind[] {Kind.LLAMA, Kind.QWEN_3, Kind.QWEN_3_MOE, Kind.PHI_4};
        for (Kind kind : kinds) {
            FamilyFile file = new FamilyFile(kind, 6);
            assertClose(file, quantized(file, blocks));
        }
    }

    /** Files may mix types, as Q4_K_M files do if rows are not multiples of 256. */
    @Test
    void filesMixTypes() throws IOException {
        FamilyFile file = new FamilyFile(Kind.LLAMA, 9);
        assertClose(file, quantized(file, BlockType.Q5_0, BlockType.Q8_0, BlockType.Q5_1));
    }

    private Path quantized(FamilyFile file, BlockType... types) throws IOException {
        Path path = folder.resolve(file.kind + "." + types[0] + ".gguf");
        FamilyModel.writeQuantized(file, path, types);
        return path;
    }

    /** Inputs in 8 bits change results, but results do not depend on other sessions or on the chunks of tokens. */
    @Test
    void eightBitInputsChangeNumbersAndNoPromise() throws IOException {
        Path path = quantized(new FamilyFile(Kind.WIDE, 6), BlockType.Q4_K);
        int[] ids = {5, 60, 70, 80, 90, 100, 110, 120, 130};
        SessionOptions options = SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32);
        try (Compute serial = Compute.serial();
                Compute threads = Compute.threads(3);
                LanguageModel exact = LanguageModel.load(serial, path);
                LanguageModel alone = LanguageModel.load(serial, path, ROUNDED);
                LanguageModel together = LanguageModel.load(threads, path, ROUNDED);
                Sessions ofExact = exact.sessions(options);
                Sessions ofAlone = alone.sessions(options);
                Sessions ofTogether = together.sessions(options)) {
            assertTrue(alone.toString().endsWith(", inputs of 4-bit weights in 8 bits"), alone.toString());
            float[] expected = ofExact.open().append(ids).nextLogits();
            float[] logits = ofAlone.open().append(ids).nextLogits();
            double error = 0;
            double square = 0;
            for (int i = 0; i < logits.length; i++) {
                error += Math.pow(logits[i] - expected[i], 2);
                square += Math.pow(expected[i], 2);
            }
            // each product has an error of half a percent, and about ten products follow each other
            assertTrue(error > 0 && error < square * 0.1 * 0.1, error + " of " + square);
            Session other = ofTogether.open().append(200, 201, 202);
            Session pieces = ofTogether.open();
            for (int id : ids) {
                pieces.append(id);
                assertEquals(other.nextLogits().length, pieces.nextLogits().length);
            }
            assertArrayEquals(logits, pieces.nextLogits());
            Path saved = folder.resolve("saved");
            pieces.save(saved);
            assertThrows(IllegalArgumentException.class, () -> ofExact.load(saved));
            assertArrayEquals(logits, ofAlone.load(saved).nextLogits());
        }
    }

    @Test
    void eightBitInputsAreRefusedWithoutWeightsOfFourBits() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 5).write(path);
        try (Compute cpu = Compute.serial()) {
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, path, ROUNDED))
                    .getMessage();
            assertEquals(
                    path + ": eightBitInputs: no weights in Q4_0, Q4_1 or Q4_K; expected at least one such weight",
                    message);
        }
    }

    @Test
    void sixteenBitMatricesMeanWhatTheyHold() throws IOException {
        for (DType type : new DType[] {DType.F16, DType.BF16}) {
            FamilyFile file = new FamilyFile(Kind.LLAMA, 7);
            Path path = folder.resolve(type + ".gguf");
            try (Arena arena = Arena.ofConfined()) {
                GgufWriter writer = file.metadata();
                file.matrices().forEach(name -> {
                    Tensor narrow = file.tensor(name).copy(arena, type);
                    file.replace(name, narrow);
                    writer.tensor(name, narrow);
                });
                file.others().forEach(name -> writer.tensor(name, file.tensor(name)));
                writer.write(path);
            }
            assertClose(file, path);
        }
    }

    /**
     * Sessions with a short context have the frequencies of short contexts, with GGUF files and folders. Each can load session files of the
     * other.
     */
    @Test
    void shortContextsHaveFrequenciesOfTheirOwn() throws IOException {
        Path path = folder.resolve("model.gguf");
        FamilyFile file = new FamilyFile(Kind.PHI_4, 5).withShortContext();
        file.write(path);
        SessionOptions few =
                SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32).withContextTokens(FamilyFile.ORIGINAL);
        assertClose(file, path, few);
        file.writeFolder(folder, BytePieces.tokenizerJson());
        assertClose(file, folder, few);
        Path saved = folder.resolve("saved");
        int[] ids = {5, 60, 70, 80, 90};
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path);
                Sessions ofFew = model.sessions(few);
                Sessions ofFewer = model.sessions(few.withContextTokens(20));
                Sessions ofMany = model.sessions(few.withContextTokens(FamilyFile.ORIGINAL + 1));
                Session session = ofFew.open().append(ids)) {
            session.save(saved);
            assertArrayEquals(session.nextLogits(), ofFewer.load(saved).nextLogits());
            String message = assertThrows(IllegalArgumentException.class, () -> ofMany.load(saved))
                    .getMessage();
            assertEquals(
                    saved
                            + ": frequencies: of contexts up to 32 tokens; expected the frequencies of these sessions, of contexts beyond 32"
                            + " tokens",
                    message);
            float[] others = ofMany.open().append(ids).nextLogits();
            assertTrue(Math.abs(others[20] - session.nextLogits()[20]) > 1e-3, "the same logits");
        }
    }

    /** Compares the log-probabilities of the tokens of a text. Tokens are sampled, so that they differ. */
    static void assertClose(FamilyFile file, Path path) throws IOException {
        assertClose(file, path, SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
    }

    private static void assertClose(FamilyFile file, Path path, SessionOptions options) throws IOException {
        int[] prompt = new SplittableRandom(1).ints(9, 3, 259).toArray();
        ReferenceTransformer reference = file.reference();
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path);
                Sessions sessions = model.sessions(options);
                Session session = sessions.open().append(prompt)) {
            assertEquals(FamilyFile.CONTEXT, model.contextTokens());
            GeneratedText text = session.generate(GenerationOptions.DEFAULT
                    .withMaxTokens(TOKENS)
                    .withSampling(Sampling.of(3, 1))
                    .withLogProbabilities(true));
            int[] all = session.tokens();
            double[] logits = reference.logits(all);
            double[] states = reference.states(all);
            double size = Math.max(largest(logits), largest(states));
            double bound = (file.kind.layers + 1) * ROUNDINGS * U * size;
            for (int i = 0; i < text.tokens().size(); i++) {
                GeneratedToken token = text.tokens().get(i);
                double[] row = row(logits, prompt.length - 1 + i);
                double expected = row[token.id()] - logSumExp(row);
                // the bound of a logit, the bound of the log-sum-exp of its row, and its rounding to f32
                double most = 2 * bound + 4 * U * size;
                assertEquals(expected, token.logProbability(), most, file.kind + ", token " + i);
            }
            // equal rows would hide errors
            assertTrue(
                    text.tokens().stream()
                                    .mapToInt(GeneratedToken::id)
                                    .distinct()
                                    .count()
                            > 3,
                    text.text());
        }
    }

    private static double[] row(double[] logits, int token) {
        return Arrays.copyOfRange(logits, token * FamilyFile.VOCABULARY, (token + 1) * FamilyFile.VOCABULARY);
    }

    private static double logSumExp(double[] row) {
        double largest = largestOf(row);
        return largest
                + Math.log(Arrays.stream(row).map(x -> Math.exp(x - largest)).sum());
    }

    private static double largestOf(double[] row) {
        return Arrays.stream(row).max().orElseThrow();
    }

    private static double largest(double[] values) {
        return Arrays.stream(values).map(Math::abs).max().orElseThrow();
    }

    /** The difference between the specification and a model that ignores an option of its family is much larger than the bound. */
    @Test
    void theComparisonSeesWhatFamiliesDifferIn() {
        int[] ids = IntStream.range(0, 16).map(i -> 3 + 7 * i % 250).toArray();
        FamilyFile gemma = new FamilyFile(Kind.GEMMA_3, 5);
        double[] right = gemma.reference().logits(ids);
        double[] states = gemma.reference().states(ids);
        double bound = 8 * ROUNDINGS * U * Math.max(largest(right), largest(states));
        ReferenceTransformer of = gemma.reference();
        ReferenceTransformer unscaled = new ReferenceTransformer(
                new ReferenceTransformer.Embedding(
                        of.embedding().words(),
                        1,
                        null,
                        null,
                        null,
                        of.embedding().dim()),
                of.blocks(),
                of.finalNorm(),
                of.head(),
                0);
        double farthest = 0;
        double[] wrong = unscaled.logits(ids);
        for (int i = 0; i < wrong.length; i++) {
            farthest = Math.max(farthest, Math.abs(wrong[i] - right[i]));
        }
        assertTrue(farthest > 20 * bound, farthest + " against " + bound);
        assertEquals(Shape.of(96, 64), gemma.tensor("blk.0.ffn_up.weight").shape());
    }
}
