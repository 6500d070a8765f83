package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufWriter;
import io.multihead.model.Pooling;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Vectors of texts are compared with the states of the specification. */
@Tag("lanes")
class TextEmbedderTest {
    private static final List<String> TEXTS = List.of("a bird", "The tea is cold.", "x", "It rains in the mountains,.");

    /** The rounding of states of four layers, whose sums have at most 128 terms, relative to vectors of length 1. */
    private static final double BOUND = 5 * (5 * 128 + 6 * 64) * 0x1p-24;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"QWEN_3", "GRANITE_HYBRID"})
    void vectorsAreThoseOfTheSpecification(Kind kind) throws IOException {
        FamilyFile file = new FamilyFile(kind, 9);
        Path path = folder.resolve("model.gguf");
        file.write(path);
        ReferenceTransformer reference = file.reference();
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            assertEquals(64, model.embedder().dimension());
            String refused = assertThrows(IllegalArgumentException.class, () -> model.embedder()
                            .withPooling(Pooling.MAX))
                    .getMessage();
            assertEquals("pooling: MAX; expected one of [LAST, MEAN, CLS]", refused);
            float[][] last = model.embedder().embed(TEXTS);
            float[][] mean = model.embedder().withPooling(Pooling.MEAN).embed(TEXTS);
            for (int i = 0; i < TEXTS.size(); i++) {
                int[] ids =
                        model.tokenizer().withSpecialTokens(model.tokenizer().encode(TEXTS.get(i)));
                double[] states = reference.finalNorm().of(reference.states(ids));
                assertClose(unit(rows(states, ids.length - 1, ids.length)), last[i]);
                assertClose(unit(rows(states, 0, ids.length)), mean[i]);
            }
        }
    }

    /** The length of a text determines its frequencies, as in transformers, independently of other texts. */
    @Test
    void textsOfLongRopeHaveTheFrequenciesOfTheirLength() throws IOException {
        FamilyFile file = new FamilyFile(Kind.PHI_4, 9);
        Path path = folder.resolve("model.gguf");
        file.write(path);
        ReferenceTransformer longer = file.reference();
        ReferenceTransformer shorter = file.withShortContext().reference();
        List<String> texts =
                List.of("a bird", "It rains in the mountains,. The tea is cold, and a bird sings.", "x", TEXTS.get(1));
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            float[][] vectors = model.embedder().embed(texts);
            for (int i = 0; i < texts.size(); i++) {
                int[] ids =
                        model.tokenizer().withSpecialTokens(model.tokenizer().encode(texts.get(i)));
                ReferenceTransformer reference = ids.length <= FamilyFile.ORIGINAL ? shorter : longer;
                double[] states = reference.finalNorm().of(reference.states(ids));
                assertClose(unit(rows(states, ids.length - 1, ids.length)), vectors[i]);
            }
        }
    }

    private static double[] rows(double[] states, int from, int to) {
        double[] mean = new double[64];
        for (int row = from; row < to; row++) {
            for (int i = 0; i < 64; i++) {
                mean[i] += states[row * 64 + i] / (to - from);
            }
        }
        return mean;
    }

    private static double[] unit(double[] vector) {
        double length = Math.sqrt(Arrays.stream(vector).map(x -> x * x).sum());
        return Arrays.stream(vector).map(x -> x / length).toArray();
    }

    private static void assertClose(double[] expected, float[] actual) {
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], actual[i], BOUND);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"GEMMA_3", "GRANITE_HYBRID"})
    void aVectorIsTheSameAloneAndInAnyBatch(Kind kind) throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(kind, 9).write(path);
        try (Compute two = Compute.threads(2);
                Compute one = Compute.serial();
                LanguageModel model = LanguageModel.load(two, path);
                LanguageModel serial = LanguageModel.load(one, path)) {
            for (Pooling pooling : List.of(Pooling.LAST, Pooling.MEAN, Pooling.CLS)) {
                TextEmbedder embedder = model.embedder().withPooling(pooling).withNormalization(false);
                float[][] together = embedder.embed(TEXTS);
                for (int i = 0; i < TEXTS.size(); i++) {
                    float[] alone = serial.embedder()
                            .withPooling(pooling)
                            .withNormalization(false)
                            .embed(TEXTS.get(i));
                    assertArrayEquals(alone, together[i]);
                }
            }
        }
    }

    /**
     * The vector of a chunk is the mean of the states of its tokens. Chunks of one character return the states of single tokens, of which
     * the last one equals the vector with pooling by the last token.
     */
    @Test
    void vectorsOfChunksAreMeansOfTheStatesOfTheirTokens() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.QWEN_3, 9).withAnswers().write(path);
        List<String> chunks = List.of("The tea is cold.", " It rains", " in the mountains", ".");
        String text = String.join("", chunks);
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            for (String prompt : List.of("", "text: ")) {
                TextEmbedder embedder = model.embedder().withPrompt(prompt).withNormalization(false);
                float[][] vectors = embedder.embedChunks(chunks);
                float[][] states = embedder.embedChunks(
                        text.codePoints().mapToObj(Character::toString).toList());
                assertArrayEquals(
                        model.embedder()
                                .withNormalization(false)
                                .withPooling(Pooling.LAST)
                                .embed(prompt + text),
                        states[states.length - 1]);
                int from = 0;
                for (int i = 0; i < chunks.size(); i++) {
                    int end = from + chunks.get(i).length();
                    assertArrayEquals(mean(states, from, end), vectors[i]);
                    from = end;
                }
                double[] norm = Arrays.stream(vectors)
                        .mapToDouble(TextEmbedderTest::squares)
                        .map(Math::sqrt)
                        .toArray();
                float[][] unit = embedder.withNormalization(true).embedChunks(chunks);
                for (int i = 0; i < chunks.size(); i++) {
                    assertEquals(1, Math.sqrt(squares(unit[i])), 1e-6);
                    assertEquals(vectors[i][3] / norm[i], unit[i][3], 1e-6);
                }
            }
        }
    }

    private static double squares(float[] vector) {
        double squares = 0;
        for (float element : vector) {
            squares += (double) element * element;
        }
        return squares;
    }

    private static float[] mean(float[][] states, int from, int end) {
        float[] mean = new float[states[0].length];
        for (int i = 0; i < mean.length; i++) {
            double sum = 0;
            for (int token = from; token < end; token++) {
                sum += states[token][i];
            }
            mean[i] = (float) (sum / (end - from));
        }
        return mean;
    }

    /** The whole text is one chunk. Its vector is compared with the mean of all its tokens, and with the specification. */
    @Test
    void oneChunkIsTheMeanOfItsText() throws IOException {
        FamilyFile file = new FamilyFile(Kind.QWEN_3, 9).withAnswers();
        Path path = folder.resolve("model.gguf");
        file.write(path);
        ReferenceTransformer reference = file.reference();
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path)) {
            int begin = model.tokenizer().specialIds().added().begin() ? 1 : 0;
            for (String text : TEXTS) {
                int[] tokens = model.tokenizer().encode(text);
                double[] states = reference
                        .finalNorm()
                        .of(reference.states(model.tokenizer().withSpecialTokens(tokens)));
                double[] expected = unit(rows(states, begin, begin + tokens.length));
                assertClose(expected, model.embedder().embedChunks(List.of(text))[0]);
            }
            assertEquals(0, model.embedder().embedChunks(List.of()).length);
        }
    }

    @Test
    void chunksThatCannotBeComputedAreNamed() throws IOException {
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, writePoisoned())) {
            TextEmbedder embedder = model.embedder();
            assertEquals(
                    "chunks[1]: no token; expected at least one token for each chunk",
                    assertThrows(IllegalArgumentException.class, () -> embedder.embedChunks(List.of("a", "")))
                            .getMessage());
            assertEquals(
                    "chunks: 202 tokens; expected 1 to the context of 128",
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> embedder.embedChunks(List.of("b".repeat(100), "b".repeat(102))))
                            .getMessage());
            String message = assertThrows(
                            ArithmeticException.class, () -> embedder.embedChunks(List.of("a bird", " z", " b")))
                    .getMessage();
            assertTrue(message.startsWith("chunks[1]: a vector that is not finite"), message);
        }
    }

    @Test
    void aTextOfTooManyTokensIsNamed() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 9).write(path);
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path)) {
            TextEmbedder embedder = model.embedder();
            String message = assertThrows(
                            IllegalArgumentException.class, () -> embedder.embed(List.of("a", "b".repeat(200))))
                    .getMessage();
            assertEquals("texts[1]: 204 tokens; expected 1 to the context of 128", message);
        }
    }

    /** Writes a folder with the modules of sentence-transformers. */
    private FamilyFile writeModules(String pooling, String more, String framework) throws IOException {
        FamilyFile file = new FamilyFile(Kind.QWEN_3, 9);
        file.writeFolder(folder, BytePieces.tokenizerJson());
        String module = "{\"path\": \"%s\", \"type\": \"sentence_transformers.models.%s\"}";
        Files.writeString(
                folder.resolve("modules.json"),
                "[" + String.format(module, "", "Transformer") + ", " + String.format(module, "1_Pooling", "Pooling")
                        + more + "]");
        Files.createDirectories(folder.resolve("1_Pooling"));
        Files.writeString(folder.resolve("1_Pooling/config.json"), "{\"pooling_mode\": \"" + pooling + "\"}");
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 60}");
        Files.writeString(folder.resolve("config_sentence_transformers.json"), framework);
        return file.withHalves();
    }

    /** The folder determines the pooling, the prompts, the longest text, and whether vectors have length 1. */
    @Test
    void aFolderSaysHowVectorsAreMade() throws IOException {
        String framework = "{\"prompts\": {\"query\": \"find: \", \"passage\": \"text: \", \"d\": \"d: \"},"
                + " \"default_prompt_name\": \"d\"}";
        String text = TEXTS.get(0);
        for (String pooling : List.of("mean", "cls", "lasttoken")) {
            ReferenceTransformer reference =
                    writeModules(pooling, "", framework).reference();
            try (Compute cpu = Compute.threads(2);
                    LanguageModel model = LanguageModel.load(cpu, folder)) {
                TextEmbedder embedder = model.embedder();
                assertEquals(60, embedder.maxTokens());
                assertEquals(Set.of("query", "passage", "d"), embedder.prompts().keySet());
                assertClose(pooled(model, reference, pooling, "d: " + text), embedder.embed(text));
                assertClose(
                        pooled(model, reference, pooling, "find: " + text),
                        embedder.forQueries().embed(text));
                assertClose(
                        pooled(model, reference, pooling, "text: " + text),
                        embedder.forDocuments().embed(text));
                assertClose(
                        pooled(model, reference, pooling, text),
                        embedder.withPrompt("").embed(text));
                String message = assertThrows(IllegalArgumentException.class, () -> embedder.embed("b".repeat(80)))
                        .getMessage();
                assertEquals("text: 83 tokens; expected 1 to the folder's max_seq_length of 60", message);
            }
        }
        String normalize = ", {\"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}";
        ReferenceTransformer reference = writeModules("mean", normalize, "{}").reference();
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, folder)) {
            assertClose(
                    unit(pooled(model, reference, "mean", text)),
                    model.embedder().embed(text));
            assertClose(
                    unit(pooled(model, reference, "mean", text)),
                    model.embedder().forQueries().embed(text));
        }
    }

    private static double[] pooled(LanguageModel model, ReferenceTransformer reference, String pooling, String text) {
        int[] ids = model.tokenizer().withSpecialTokens(model.tokenizer().encode(text));
        double[] states = reference.finalNorm().of(reference.states(ids));
        return switch (pooling) {
            case "mean" -> rows(states, 0, ids.length);
            case "cls" -> rows(states, 0, 1);
            default -> rows(states, ids.length - 1, ids.length);
        };
    }

    /** Writes a GGUF file of a model whose embedding of one token is not finite. */
    private Path writePoisoned() throws IOException {
        FamilyFile file = new FamilyFile(Kind.LLAMA, 9).withAnswers();
        Tensor table = file.tensor("token_embd.weight");
        float[] numbers = table.toArray();
        int poisoned = 'z' + 3; // after <unk>, <s> and </s>
        Arrays.fill(numbers, poisoned * 64, poisoned * 64 + 64, Float.NaN);
        file.replace("token_embd.weight", Tensor.of(numbers, FamilyFile.VOCABULARY, 64));
        Path path = folder.resolve("model.gguf");
        file.write(path);
        return path;
    }

    @Test
    void aVectorThatIsNotFiniteIsNamedAndNoOtherIsChanged() throws IOException {
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, writePoisoned())) {
            TextEmbedder embedder = model.embedder();
            float[] alone = embedder.embed("a bird");
            String message = assertThrows(
                            ArithmeticException.class, () -> embedder.embed(List.of("a bird", "zebra", "x")))
                    .getMessage();
            assertTrue(message.startsWith("texts[1]: a vector that is not finite; expected finite numbers"), message);
            message = assertThrows(ArithmeticException.class, () -> embedder.embed("a z"))
                    .getMessage();
            assertTrue(message.startsWith("text: a vector that is not finite"), message);
            assertArrayEquals(alone, embedder.embed("a bird"));
        }
    }

    @Test
    void poolingTypesOfGgufAreObeyed() throws IOException {
        FamilyFile file = new FamilyFile(Kind.QWEN_3, 9);
        Path path = folder.resolve("model.gguf");
        Map<Integer, Pooling> types = Map.of(1, Pooling.MEAN, 2, Pooling.CLS, 3, Pooling.LAST);
        for (int type = 0; type <= 4; type++) {
            GgufWriter writer = file.metadata().put("qwen3.pooling_type", FamilyFile.number(type));
            Stream.concat(file.matrices().stream(), file.others().stream())
                    .forEach(name -> writer.tensor(name, file.tensor(name)));
            writer.write(path);
            try (Compute cpu = Compute.serial()) {
                if (type == 4) {
                    assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, path));
                    return;
                }
                try (LanguageModel model = LanguageModel.load(cpu, path)) {
                    if (type == 0) {
                        assertThrows(IllegalStateException.class, model::embedder);
                    } else {
                        TextEmbedder embedder = model.embedder();
                        assertArrayEquals(
                                embedder.withPooling(types.get(type)).embed(TEXTS.get(1)),
                                embedder.embed(TEXTS.get(1)));
                    }
                }
            }
        }
    }

    /** A warm call allocates only the vector and the tokens; the first call of a model allocates scratch memory for 512 tokens. */
    @Test
    void warmCallsKeepTheirScratchMemory() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.QWEN_3, 9).write(path);
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path)) {
            // the scratch memory of this model has 700 KB for 512 tokens
            long bytes =
                    WarmCalls.allocatedBytes(200_000, () -> model.embedder().embed("a bird"));
            assertTrue(bytes <= 200_000, bytes + " bytes");
        }
    }
}
