package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.CacheFullException;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.Safetensors;
import io.multihead.internal.load.WeightSource;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Saved sessions continue from their files at every lane width, and files that do not fit are refused. */
class SavedSessionTest {
    private static final GenerationOptions DRAWN =
            GenerationOptions.DEFAULT.withSampling(Sampling.of(1.5, 11)).withMaxTokens(30);

    private static final SessionOptions TWO = SessionOptions.DEFAULT.withSessions(2);

    @TempDir
    private Path folder;

    private final Compute cpu = Compute.serial();
    private final LanguageModel model = TinyDecoder.endless(cpu, 1);
    private final Sessions sessions = model.sessions(TWO);

    @AfterEach
    void close() {
        sessions.close();
        model.close();
        cpu.close();
    }

    private Path file() {
        return folder.resolve("prefix");
    }

    private static int[] prompt(int length) {
        int[] ids = new int[length];
        Arrays.setAll(ids, i -> 'a' + i * i % 23);
        return ids;
    }

    private static int[] ids(GeneratedText text) {
        return text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
    }

    @Tag("lanes")
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "F16", "BF16", "I8"})
    void aLoadedSessionGoesOnWithTheSameBits(DType type) throws IOException {
        try (Sessions ours = model.sessions(TWO.withCacheFormat(CacheFormat.of(type)));
                Compute threads = Compute.threads(2);
                LanguageModel other = TinyDecoder.endless(threads, 1);
                Sessions theirs = other.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.of(type)))) {
            Session saved = ours.open().append(prompt(90));
            saved.save(file());
            Session loaded = theirs.load(file());
            assertArrayEquals(saved.tokens(), loaded.tokens());
            assertArrayEquals(saved.nextLogits(), loaded.nextLogits());
            assertArrayEquals(ids(saved.generate(DRAWN)), ids(loaded.generate(DRAWN)));
            // generated text is saved, too, and its last token is not computed yet
            loaded.save(file());
            Session again = ours.load(file()).append(5, 6);
            assertArrayEquals(saved.append(5, 6).nextLogits(), again.nextLogits());
            assertArrayEquals(ids(saved.fork().generate(DRAWN)), ids(again.generate(DRAWN)));
        }
    }

    @Tag("lanes")
    @Test
    void aPrefixIsSharedByForksOfIt() throws IOException {
        sessions.open().append(prompt(128)).save(file());
        Session prefix = sessions.load(file());
        long used = sessions.usedBytes();
        Session fork = prefix.fork().append(7);
        int[] whole = ids(sessions.open().append(prompt(128)).append(7).generate(DRAWN));
        assertArrayEquals(whole, ids(fork.generate(DRAWN)));
        assertTrue(sessions.usedBytes() <= used + 5 * 64 * sessions.bytesPerToken(), used + " bytes before");
    }

    /** The cache may contain tokens of a failed step and draft tokens beyond the tokens of the session. The file does not contain them. */
    @Tag("lanes")
    @Test
    void nothingBeyondTheTokensIsSaved() throws IOException {
        Session session = sessions.open().append("abcdabcdabc");
        GenerationOptions guessing = GenerationOptions.DEFAULT.withMaxTokens(30).withDraftTokens(5);
        for (int tokens = 1; tokens < 12; tokens++) {
            assertThrows(
                    UnsupportedOperationException.class,
                    () -> session.generate(guessing, token -> {
                        throw new UnsupportedOperationException();
                    }));
            session.truncate(session.length() - 1 + tokens % 2);
            session.save(file());
            try (Session loaded = sessions.load(file())) {
                assertArrayEquals(session.nextLogits(), loaded.nextLogits());
            }
        }
    }

    /** Loads a session in another process. */
    public static final class Loads {
        private Loads() {}

        public static void main(String[] paths) throws IOException {
            try (Compute cpu = Compute.threads(2);
                    LanguageModel model = LanguageModel.load(cpu, Path.of(paths[0]));
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                    Session session = sessions.load(Path.of(paths[1]))) {
                System.out.println(Arrays.hashCode(session.nextLogits()));
                System.out.println(Arrays.toString(ids(session.generate(DRAWN))));
            }
        }
    }

    @Tag("lanes")
    @Test
    void anotherProcessGoesOn() throws IOException, InterruptedException {
        Path weights = folder.resolve("model.gguf");
        new FamilyFile(Kind.GEMMA_3, 5).write(weights);
        try (LanguageModel gemma = LanguageModel.load(cpu, weights);
                Sessions ours = gemma.sessions(SessionOptions.DEFAULT);
                Session session = ours.open().append(3, 80, 90, 100, 110, 120, 130)) {
            session.save(file());
            List<String> lines = ChildJvm.run(Loads.class, List.of(), weights.toString(), file().toString());
            assertTrue(lines.contains(String.valueOf(Arrays.hashCode(session.nextLogits()))), lines.toString());
            assertTrue(lines.contains(Arrays.toString(ids(session.generate(DRAWN)))), lines.toString());
        }
    }

    private String refused(LanguageModel by, SessionOptions options) {
        try (Sessions other = by.sessions(options)) {
            String message = assertThrows(IllegalArgumentException.class, () -> other.load(file()))
                    .getMessage();
            assertEquals(0, other.usedBytes());
            assertTrue(message.startsWith(file() + ": "), message);
            return message.substring(file().toString().length() + 2);
        }
    }

    @Test
    void anotherModelIsRefusedByName() throws IOException {
        sessions.open().append(prompt(70)).save(file());
        try (LanguageModel other = TinyDecoder.model(cpu, 2)) {
            String message = refused(other, SessionOptions.DEFAULT);
            assertTrue(message.startsWith("model: tiny (tiny, 2 layers of 32, 4 heads on 2), checksum "), message);
            assertTrue(message.contains("; expected the model of these sessions, tiny (tiny"), message);
        }
        // the last bit of one weight is changed
        Map<String, Tensor> weights = TinyDecoder.weights(TinyDecoder.config(), 1);
        weights.get("blk.1.ffn_down.weight")
                .set(Math.nextUp((float) weights.get("blk.1.ffn_down.weight").get(31, 47)), 31, 47);
        try (LanguageModel other = TinyDecoder.model(cpu, weights)) {
            assertTrue(refused(other, SessionOptions.DEFAULT).startsWith("model: "));
        }
        // a model with the same weights loads the file
        try (LanguageModel same = TinyDecoder.model(cpu, 1);
                Sessions others = same.sessions(SessionOptions.DEFAULT)) {
            assertEquals(70, others.load(file()).length());
        }
    }

    @Test
    void anotherConfigurationIsAnotherModel() throws IOException {
        FamilyFile family = new FamilyFile(Kind.QWEN_3, 5);
        Path weights = folder.resolve("model.gguf");
        family.write(weights);
        Path wider = folder.resolve("wider.gguf");
        family.writeChat(wider, "a template, which changes no number");
        try (LanguageModel one = LanguageModel.load(cpu, weights);
                Sessions ours = one.sessions(SessionOptions.DEFAULT);
                LanguageModel two = LanguageModel.load(cpu, wider);
                Sessions theirs = two.sessions(SessionOptions.DEFAULT)) {
            ours.open().append(5, 6, 7).save(file());
            assertEquals(3, theirs.load(file()).length());
        }
        DecoderConfig config = TinyDecoder.config();
        DecoderConfig other = new DecoderConfig(
                config.family(),
                config.sizes(),
                config.attention(),
                new DecoderConfig.NormRule(1e-6, false, false),
                config.layers(),
                config.activation(),
                config.ends());
        WeightSource source = WeightSource.of(TinyDecoder.weights(config, 1));
        ModelIdentity.Tensors tensors = new ModelIdentity.Tensors(source, source.names(), null);
        String checksum = new ModelIdentity("a", 1, ModelSettings.of(config, false), tensors).checksum();
        assertEquals(
                checksum, new ModelIdentity("b", 2, ModelSettings.of(TinyDecoder.config(), false), tensors).checksum());
        assertFalse(checksum.equals(new ModelIdentity("a", 1, ModelSettings.of(other, false), tensors).checksum()));
    }

    @Test
    void sessionsOfAnotherKindAreRefused() throws IOException {
        sessions.open().append(prompt(70)).save(file());
        assertEquals(
                "tokens: more than 60; expected at most the sessions' context",
                refused(model, SessionOptions.DEFAULT.withContextTokens(60)));
        assertEquals(
                "dtype: F16; expected BF16, as the cache has",
                refused(model, SessionOptions.DEFAULT.withCacheFormat(CacheFormat.BF16)));
    }

    /** Changes metadata of the file and converts it to the version without checksums, which would not match. */
    private void change(BiFunction<String, String, String> change) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Safetensors whole = Safetensors.map(arena, file());
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            whole.names().forEach(name -> tensors.put(name, whole.get(name)));
            Map<String, String> metadata = new LinkedHashMap<>();
            tensors.remove("checksums");
            whole.metadata().forEach((name, text) -> {
                String old = name.equals("format") ? "multihead cache session 3" : text;
                String changed = change.apply(name, old);
                if (changed != null) {
                    metadata.put(name, changed);
                }
            });
            Path changed = folder.resolve("changed");
            Safetensors.write(changed, tensors, metadata);
            Files.copy(changed, file(), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private void assertRefused(String begin, String name, String value) throws IOException {
        sessions.open().append(5, 6, 7).save(file());
        change((field, text) -> field.equals(name) ? value : text);
        String message = refused(model, SessionOptions.DEFAULT);
        assertTrue(message.startsWith(begin), message);
    }

    @Test
    void tokensOfAFileAreChecked() throws IOException {
        assertRefused("tokens[1]: 258; expected 0 to 257", "note tokens", "5 258 7");
        assertRefused("tokens[1]: -1; expected 0 to 257", "note tokens", "5 -1 7");
        assertRefused("tokens[1]: x; expected 0 to 257", "note tokens", "5 x 7");
        assertRefused("tokens[1]: \"\"; expected 0 to 257", "note tokens", "5  7");
        assertRefused("tokens: \"\"; expected one at least", "note tokens", "");
        assertRefused("tokens: null; expected one at least", "note tokens", null);
        assertRefused("sequences: 1 of other lengths; expected one, of the 2 tokens", "note tokens", "5 6");
        assertRefused("sequences: 0 of other lengths; expected one, of the 3 tokens", "sequences", "0");
        assertRefused("model: tiny", "note checksum", "0123");
        assertRefused("model: tiny", "note checksum", null);
        assertRefused("settings: version 2; expected version 1", "note settings", "2");
    }

    /** A file with changed bytes is refused by a message that names the file, or the session is loaded completely. */
    @Test
    void filesOfOtherBytesAreRefusedOrUsable() throws IOException {
        sessions.open().append(prompt(70)).save(file());
        byte[] whole = Files.readAllBytes(file());
        // changed bytes are in the length of the header and in the header
        int header = Long.BYTES
                + ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN).getInt();
        SplittableRandom random = new SplittableRandom(4);
        int refused = 0;
        for (int i = 0; i < 300; i++) {
            byte[] changed = i % 3 == 0 ? Arrays.copyOf(whole, random.nextInt(whole.length)) : whole.clone();
            if (i % 3 != 0) {
                changed[random.nextInt(header)] = (byte) random.nextInt(256);
            }
            Files.write(file(), changed);
            long used = sessions.usedBytes();
            try (Session loaded = sessions.load(file())) {
                assertEquals(loaded.length(), loaded.tokens().length);
                loaded.generate(DRAWN.withMaxTokens(2));
            } catch (IllegalArgumentException | CacheFullException named) {
                refused++;
                assertTrue(
                        named instanceof CacheFullException
                                || named.getMessage().startsWith(file() + ": "),
                        named.getMessage());
            }
            assertEquals(used, sessions.usedBytes());
        }
        assertTrue(refused > 200, refused + " refused");
    }

    @Test
    void aFailedSaveLeavesTheOldFileAndNothingElse() throws IOException {
        Session session = sessions.open().append(prompt(70));
        session.save(file());
        byte[] old = Files.readAllBytes(file());
        assertThrows(
                IOException.class, () -> session.save(folder.resolve("none").resolve("prefix")));
        Path directory = Files.createDirectory(folder.resolve("directory"));
        Files.writeString(directory.resolve("full"), "");
        assertThrows(IOException.class, () -> session.save(directory));
        try (var files = Files.list(folder)) {
            assertEquals(2, files.count());
        }
        assertArrayEquals(old, Files.readAllBytes(file()));
        assertThrows(IOException.class, () -> sessions.load(folder.resolve("none")));
    }

    @Test
    void whatCannotBeSavedIsNamed() throws IOException {
        Session empty = sessions.open();
        assertState("session: no tokens; expected tokens from the first one on", empty);
        try (Sessions small = model.sessions(SessionOptions.DEFAULT.withContextTokens(20))) {
            Session slid = small.open().append(prompt(15));
            slid.generate(DRAWN.withWhenFull(WhenFull.SLIDE));
            assertState("session: slid, with tokens from 24 on; expected tokens from the first one on", slid);
            Session full = small.open().append(prompt(20));
            full.generate(DRAWN.withWhenFull(WhenFull.SLIDE).withMaxTokens(1));
            assertState("session: 21 tokens; expected at most its context, 20, as it has before it slides", full);
            Session whole = small.open().append(prompt(15));
            whole.generate(DRAWN);
            whole.generate(DRAWN);
            whole.save(file());
            assertArrayEquals(whole.tokens(), small.load(file()).tokens());
            Files.delete(file());
        }
        empty.append(5);
        empty.close();
        assertState("session: closed; expected an open session", empty);
        assertFalse(Files.exists(file()));
    }

    private void assertState(String message, Session session) {
        assertEquals(
                message,
                assertThrows(IllegalStateException.class, () -> session.save(file()))
                        .getMessage());
    }

    @Test
    void aLoadTakesTheRoomOfIdleSessionsWhichGoOn() throws IOException {
        int[] whole = ids(sessions.open().append(prompt(60)).generate(DRAWN.withMaxTokens(4)));
        sessions.open().append(prompt(60)).save(file());
        // the memory has six pages of 64 tokens
        try (Sessions small = model.sessions(SessionOptions.DEFAULT.withContextTokens(64))) {
            Session[] all = new Session[9];
            for (int i = 0; i < all.length; i++) {
                all[i] = small.load(file());
            }
            Consumer<Session> goesOn =
                    session -> assertArrayEquals(whole, ids(session.generate(DRAWN.withMaxTokens(4))));
            Arrays.stream(all).forEach(goesOn);
            assertEquals(6 * 64 * small.bytesPerToken(), small.usedBytes());
        }
        Sessions closed = model.sessions(SessionOptions.DEFAULT);
        closed.close();
        assertThrows(IllegalStateException.class, () -> closed.load(file()));
    }

    /** Evicted tokens cannot be computed again, so the session keeps its memory. */
    @Test
    void aLoadWithoutRoomFailsByName() throws IOException {
        SessionOptions options = SessionOptions.DEFAULT.withContextTokens(100).withMaxWait(Duration.ZERO);
        // the memory has seven pages of 64 tokens
        try (LanguageModel endless = TinyDecoder.endless(cpu, 1);
                Sessions small = endless.sessions(options)) {
            Session saved = small.open().append(prompt(90));
            saved.save(file());
            saved.close();
            Session slid = small.open().append(prompt(90));
            slid.generate(DRAWN.withWhenFull(WhenFull.SLIDE).withMaxTokens(265));
            assertEquals(6 * 64 * small.bytesPerToken(), small.usedBytes());
            String message = assertThrows(CacheFullException.class, () -> small.load(file()))
                    .getMessage();
            assertTrue(message.contains("expected"), message);
            slid.close();
            assertEquals(90, small.load(file()).length());
        }
    }
}
