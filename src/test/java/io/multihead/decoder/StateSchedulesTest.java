package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.model.Block;
import io.multihead.model.OwnConvolution;
import io.multihead.model.Sublayer;
import io.multihead.model.Transformer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A session continues like a new session with the same tokens, for each kind of state and over random schedules of all operations. */
@Tag("bits")
class StateSchedulesTest {
    private static final int SCHEDULES = 200;
    private static final int STEPS = 12;
    private static final int MOST_SESSIONS = 5;

    @TempDir
    private Path folder;

    /** Models with different kinds of states. */
    enum Kind {
        KEYS(model -> model),
        RECURRENT(model -> model.withBlocks(List.of(convolution(model, 0), convolution(model, 1)))),
        HYBRID(model -> model.withBlocks(List.of(
                convolution(model, 0),
                model.blocks().get(0),
                convolution(model, 1),
                model.blocks().get(1)))),
        /** A model from a file with convolutions and attention. */
        LFM_2(model -> model) {
            @Override
            LanguageModel model(Compute cpu, Path folder) throws IOException {
                Path file = folder.resolve("model.gguf");
                new FamilyFile(FamilyFile.Kind.LFM_2, 5)
                        .withContext(TinyDecoder.CONTEXT)
                        .write(file);
                return LanguageModel.load(cpu, file);
            }
        },
        /** A model with keys of two sizes, whose last layers share keys of earlier layers. */
        GEMMA_4(model -> model) {
            @Override
            LanguageModel model(Compute cpu, Path folder) throws IOException {
                Path file = folder.resolve("model.gguf");
                new Gemma4File(5, 1).write(file);
                return LanguageModel.load(cpu, file);
            }
        },
        /** A model with experts and keys of two sizes, in which some keys are also the values. */
        GEMMA_4_EXPERTS(model -> model) {
            @Override
            LanguageModel model(Compute cpu, Path folder) throws IOException {
                Path file = folder.resolve("model.gguf");
                new Gemma4File(5, 1, true).write(file);
                return LanguageModel.load(cpu, file);
            }
        },
        /** One layer has a window, and one layer sees all tokens. Texts are long enough to evict keys. */
        WINDOW(model -> model, 12) {
            @Override
            LanguageModel model(Compute cpu, Path folder) {
                return TinyDecoder.windowed(cpu, 5, 12 * TinyDecoder.CONTEXT, 70, 0);
            }
        },
        /** All layers have a window. */
        WINDOWS(model -> model, 12) {
            @Override
            LanguageModel model(Compute cpu, Path folder) {
                return TinyDecoder.windowed(cpu, 5, 12 * TinyDecoder.CONTEXT, 3, 3);
            }
        },
        /** All layers except the fourth have linear attention. */
        LINEAR("QWEN_3_5"),
        /** All layers except the third have Mamba-2. */
        MAMBA("GRANITE_HYBRID");

        private final @Nullable String family;
        private final @Nullable UnaryOperator<Transformer> change;
        /** The length of texts relative to the texts of other kinds. */
        private final int times;

        Kind(UnaryOperator<Transformer> change) {
            this(change, 1);
        }

        Kind(UnaryOperator<Transformer> change, int times) {
            family = null;
            this.change = change;
            this.times = times;
        }

        Kind(String family) {
            this.family = family;
            change = null;
            times = 1;
        }

        LanguageModel model(Compute cpu, Path folder) throws IOException {
            if (change != null) {
                return TinyDecoder.changed(cpu, 5, change);
            }
            Path file = folder.resolve("model.gguf");
            FamilyModel.write(family, file);
            return LanguageModel.load(cpu, file);
        }
    }

    /** Returns a block with a convolution instead of its attention. */
    private static Block convolution(Transformer model, int block) {
        SplittableRandom random = new SplittableRandom(block);
        float[][] taps = new float[3][model.dim()];
        for (float[] each : taps) {
            for (int i = 0; i < each.length; i++) {
                each[i] = (float) random.nextGaussian(0, 0.5);
            }
        }
        Sublayer[] sublayers = model.blocks().get(block).sublayers().toArray(Sublayer[]::new);
        sublayers[0] = Sublayer.preNorm(sublayers[0].before(), new OwnConvolution(taps));
        return Block.of(sublayers);
    }

    @ParameterizedTest
    @EnumSource
    void everyScheduleHasTheTokensOfANewSession(Kind kind) throws IOException {
        try (Compute cpu = Compute.threads(2);
                Compute serial = Compute.serial();
                LanguageModel model = kind.model(cpu, folder);
                LanguageModel alone = kind.model(serial, folder);
                Sessions own = alone.sessions(SessionOptions.DEFAULT)) {
            for (int schedule = 0; schedule < SCHEDULES; schedule++) {
                SplittableRandom random = new SplittableRandom(schedule);
                SessionOptions options = SessionOptions.DEFAULT
                        .withSessions(2 + random.nextInt(MOST_SESSIONS))
                        .withKeptPrefixes(random.nextBoolean());
                try (Sessions sessions = model.sessions(options, kind.times * (1 + random.nextInt(40)))) {
                    run(random, sessions, own, kind.times);
                } catch (AssertionError failed) {
                    throw new AssertionError("schedule " + schedule, failed);
                }
            }
        }
    }

    private void run(SplittableRandom random, Sessions sessions, Sessions own, int times) throws IOException {
        List<Session> open = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            if (open.isEmpty() || open.size() < MOST_SESSIONS && random.nextInt(4) == 0) {
                open.add(sessions.open().append(tokens(random, times * (1 + random.nextInt(40)))));
            }
            Session session = open.get(random.nextInt(open.size()));
            switch (random.nextInt(8)) {
                case 0 -> session.append(tokens(random, times * (1 + random.nextInt(15))));
                case 1 -> session.truncate(1 + random.nextInt(session.length()));
                case 2 -> {
                    if (open.size() < MOST_SESSIONS) {
                        open.add(session.fork());
                    }
                }
                case 3 -> {
                    if (open.size() > 1) {
                        open.remove(session);
                        session.close();
                    }
                }
                case 4 -> assertArrayEquals(logits(own, session.tokens()), session.nextLogits());
                case 5 -> {
                    if (open.size() < MOST_SESSIONS) {
                        Path file = folder.resolve("session");
                        session.save(file);
                        open.add(sessions.load(file));
                        assertArrayEquals(
                                session.tokens(), open.get(open.size() - 1).tokens());
                    }
                }
                default -> generate(random, own, sessions, open, 120 * times);
            }
        }
        for (Session session : open) {
            assertArrayEquals(logits(own, session.tokens()), session.nextLogits());
            session.close();
        }
    }

    private static void generate(
            SplittableRandom random, Sessions own, Sessions sessions, List<Session> open, int most) {
        List<Session> group = open.stream()
                .filter(each -> random.nextInt(3) > 0 && each.length() < most)
                .toList();
        List<int[]> prompts = group.stream().map(Session::tokens).toList();
        List<GenerationOptions> options = group.stream()
                .map(each -> GenerationOptions.DEFAULT
                        .withMaxTokens(1 + random.nextInt(10))
                        .withDraftTokens(random.nextInt(5)))
                .toList();
        List<GeneratedText> texts = sessions.generate(group, options);
        for (int i = 0; i < group.size(); i++) {
            try (Session alone = own.open().append(prompts.get(i))) {
                GeneratedText expected = alone.generate(options.get(i).withDraftTokens(0));
                assertEquals(ids(expected), ids(texts.get(i)));
                assertArrayEquals(alone.tokens(), group.get(i).tokens());
            }
        }
    }

    private static List<Integer> ids(GeneratedText text) {
        return text.tokens().stream().map(GeneratedToken::id).toList();
    }

    private static float[] logits(Sessions own, int[] tokens) {
        try (Session alone = own.open().append(tokens)) {
            return alone.nextLogits();
        }
    }

    /** Returns random tokens of few letters, so that draft tokens are often accepted. */
    private static int[] tokens(SplittableRandom random, int count) {
        return random.ints(count, 'a', 'a' + 3).toArray();
    }

    @Test
    void whatIsComputedTwiceIsFromTheLastSnapshotOn() throws IOException {
        try (Compute cpu = Compute.serial();
                LanguageModel model = Kind.HYBRID.model(cpu, folder);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(3))) {
            int[] prompt = tokens(new SplittableRandom(1), 100);
            Session session = sessions.open().append(prompt);
            session.nextLogits();
            session.truncate(99);
            assertEquals(99, session.state.computed);
            session.close();
            assertEquals(0, sessions.usedBytes());
            try (Session again = sessions.open().append(prompt)) {
                again.nextLogits();
                assertEquals(new PrefixReuse(1, 99, sessions.prefixReuse().keptBytes()), sessions.prefixReuse());
                again.truncate(98);
                assertEquals(0, again.state.computed);
            }
        }
    }

    /** There are more sessions than fit in memory. Idle sessions and kept prefixes lose their states and snapshots. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"RECURRENT", "HYBRID"})
    void recurrentStatesHaveABudget(Kind kind) throws IOException {
        try (Compute cpu = Compute.serial();
                LanguageModel model = kind.model(cpu, folder);
                Sessions own = model.sessions(SessionOptions.DEFAULT);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(2))) {
            List<Session> open = new ArrayList<>();
            SplittableRandom random = new SplittableRandom(1);
            long ofStates = 2L * 4 * 2 * 2 * 32 * Float.BYTES;
            for (int i = 0; i < 20; i++) {
                Session session = sessions.open().append(tokens(random, 20));
                session.generate(GenerationOptions.DEFAULT.withMaxTokens(5).withDraftTokens(3));
                open.add(session);
                long ofKeys = sessions.bytesPerToken() * 64 * 8;
                assertTrue(sessions.usedBytes() <= ofStates + ofKeys, sessions.usedBytes() + " bytes");
                if (i % 3 == 0) {
                    open.remove(random.nextInt(open.size())).close();
                }
            }
            assertTrue(sessions.usedBytes() + sessions.prefixReuse().keptBytes() >= ofStates / 2);
            for (Session session : open) {
                assertArrayEquals(logits(own, session.tokens()), session.nextLogits());
            }
            sessions.generate(open, Collections.nCopies(open.size(), GenerationOptions.DEFAULT.withMaxTokens(2)));
        }
    }

    @Test
    void layersWithAWindowKeepItAlone() throws IOException {
        try (Compute cpu = Compute.serial();
                LanguageModel model = Kind.WINDOWS.model(cpu, folder);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(3), 100)) {
            int[] text = tokens(new SplittableRandom(1), 2000);
            Session session = sessions.open().append(text);
            session.nextLogits();
            assertTrue(sessions.usedBytes() <= (3 + 511 + 100 + 64) * sessions.bytesPerToken());
            assertEquals((3 + 511) * sessions.bytesPerToken(), session.cacheBytes());
            session.generate(GenerationOptions.DEFAULT.withMaxTokens(400));
            int[] prompt = Arrays.copyOf(session.tokens(), 2001);
            Path file = folder.resolve("session");
            session.save(file);
            assertTrue(Files.size(file) < 2000 * sessions.bytesPerToken());
            session.close();
            try (Session again = sessions.open().append(prompt)) { // starts from the kept prefix of the first prompt
                again.nextLogits();
                assertEquals(2000, sessions.prefixReuse().savedTokens());
            }
        }
    }

    @Test
    void aTextThatSlidIsNotCutWhereAWindowHasDroppedTokens() {
        try (Compute cpu = Compute.serial();
                LanguageModel model = TinyDecoder.windowed(cpu, 5, 1000, 70, 0);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append(tokens(new SplittableRandom(1), 990))) {
            GenerationOptions slides = GenerationOptions.DEFAULT.withWhenFull(WhenFull.SLIDE);
            session.generate(slides.withMaxTokens(600));
            int length = session.length();
            String message = assertThrows(IllegalArgumentException.class, () -> session.truncate(length - 700))
                    .getMessage();
            assertTrue(message.startsWith("length: " + (length - 700) + " of "), message);
            assertEquals(length, session.length());
            session.truncate(length - 200);
            assertEquals(0, session.state.computed - (length - 200));
        }
    }

    @Test
    void aRecurrentStateDoesNotSlide() throws IOException {
        try (Compute cpu = Compute.serial();
                LanguageModel model = Kind.RECURRENT.model(cpu, folder);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append("a")) {
            GenerationOptions slides = GenerationOptions.DEFAULT.withWhenFull(WhenFull.SLIDE);
            assertEquals(
                    "whenFull: SLIDE, of a model whose recurrent states cannot forget their first tokens; expected STOP",
                    assertThrows(IllegalArgumentException.class, () -> session.generate(slides))
                            .getMessage());
            assertEquals(0, sessions.bytesPerToken());
            session.nextLogits();
            assertEquals(2L * 2 * 32 * Float.BYTES, session.cacheBytes());
        }
    }
}
