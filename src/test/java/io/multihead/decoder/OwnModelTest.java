package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.Gguf;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.Block;
import io.multihead.model.Buffers;
import io.multihead.model.Part;
import io.multihead.model.Sublayer;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A model that a program builds from parts is used in sessions, batches and embeddings. */
class OwnModelTest {
    private static final GenerationOptions OPTIONS = GenerationOptions.DEFAULT.withMaxTokens(12);

    @TempDir
    private Path folder;

    private final Compute cpu = Compute.threads(2);
    private final Loading loading = Loading.of(cpu);
    private Transformer parts;
    private Tokenizer tokenizer;
    private Path path;

    @BeforeEach
    void makeParts() throws IOException {
        path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 5).write(path);
        Gguf file = Gguf.map(loading.arena(), path);
        GgufSettings settings = new GgufSettings(file, path);
        DecoderConfig config = Families.of(settings).configure(settings);
        parts = DecoderBuilder.build(
                config, new Weights(loading, WeightSource.of(file)), false, false, LoadListener.NONE);
        tokenizer = Tokenizers.of(file);
    }

    @AfterEach
    void close() {
        cpu.close();
        loading.close();
    }

    /** A part that computes {@code x / 2} of each element. */
    private record Half(int dim) implements Part {
        @Override
        public void compute(Compute compute, Tensor x, Tensor y, boolean adds, Buffers buffers) {
            float[] values = x.toArray();
            float[] before = y.toArray();
            for (int i = 0; i < values.length; i++) {
                values[i] = adds ? before[i] + values[i] / 2 : values[i] / 2;
            }
            Tensor.of(values, x.dim(0), dim).copyTo(y);
        }
    }

    @Test
    void itDoesWhatTheModelOfTheFileDoes() throws IOException {
        try (LanguageModel loaded = LanguageModel.load(cpu, path);
                LanguageModel own = LanguageModel.of(cpu, parts, tokenizer, FamilyFile.CONTEXT)) {
            assertEquals(ids(loaded, "Once upon"), ids(own, "Once upon"));
            assertArrayEquals(loaded.embedder().embed("A text."), own.embedder().embed("A text."));
            assertEquals("a model of parts, 5 layers of 64", own.toString());
            assertEquals(0, own.ownBytes());
            assertThrows(IllegalStateException.class, () -> own.write(path.resolveSibling("packed")));
            assertEquals(FamilyFile.CONTEXT, own.contextTokens());
            LanguageModel chat = own.withChatTemplate(ChatTemplate.CHATML);
            assertEquals(ChatTemplate.CHATML, chat.chatTemplate());
        }
    }

    @Test
    void partsOfAProgramHaveTheSameTokensAloneAndInABatch() {
        Block half = Block.of(new Sublayer(new Half(parts.dim()), null, null, null));
        List<Block> blocks = new ArrayList<>(parts.blocks());
        blocks.add(1, half);
        Transformer changed = parts.withBlocks(blocks);
        List<String> prompts = List.of("Once", "upon a time", "x");
        try (LanguageModel own = LanguageModel.of(cpu, changed, tokenizer, FamilyFile.CONTEXT);
                LanguageModel without = LanguageModel.of(cpu, parts, tokenizer, FamilyFile.CONTEXT);
                Sessions sessions = own.sessions(SessionOptions.DEFAULT.withSessions(3))) {
            List<Session> all = prompts.stream()
                    .map(prompt -> sessions.open().append(prompt))
                    .toList();
            List<GeneratedText> together = sessions.generate(all, List.of(OPTIONS, OPTIONS, OPTIONS));
            for (int i = 0; i < prompts.size(); i++) {
                assertEquals(ids(own, prompts.get(i)), ids(together.get(i)));
            }
            assertNotEquals(logit(without), logit(own));
        }
    }

    private static List<Integer> ids(LanguageModel model, String prompt) {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            return ids(session.append(prompt).generate(OPTIONS));
        }
    }

    private static List<Integer> ids(GeneratedText text) {
        return text.tokens().stream().map(GeneratedToken::id).toList();
    }

    private static float logit(LanguageModel model) {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            return session.append("Once").nextLogits()[65];
        }
    }

    @Test
    void whatItCannotDoIsNamed() {
        try (LanguageModel own = LanguageModel.of(cpu, parts, tokenizer, FamilyFile.CONTEXT);
                Sessions sessions = own.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append("A text.")) {
            Path saved = folder.resolve("session");
            String message = assertThrows(IllegalStateException.class, () -> session.save(saved))
                    .getMessage();
            assertEquals(
                    "model: made of parts; expected a model from a file, since a saved session belongs to the file's tensors",
                    message);
            assertTrue(!saved.toFile().exists());
            assertThrows(IllegalArgumentException.class, own::chatTemplate);
        }
        String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.of(cpu, parts, tokenizer, 0))
                .getMessage();
        assertTrue(message.startsWith("contextTokens: 0; expected 1 to the model's "), message);
    }
}
