package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.grammar.TokenConstraint;
import io.multihead.grammar.TokenFilter;
import io.multihead.grammar.TokenMask;
import io.multihead.tensor.Tensor;
import io.multihead.text.TextStream;
import io.multihead.text.Tokenizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The concatenated texts of several calls equal the text of one call. */
class TextDivisionTest {
    private static final int[] CYCLE = {0xf0, 0x9f, 0x98, 0x80, '!', 0xc3, 0xa9};
    private static final String TEXT = "\ud83d\ude00!\u00e9";

    private final Compute cpu = Compute.serial();

    @AfterEach
    void close() {
        cpu.close();
    }

    /**
     * Returns a model that repeats a sequence of bytes. The state of a token is its embedding, and equals the row of the next token in the
     * head.
     */
    private LanguageModel saying(int... cycle) {
        Map<String, Tensor> weights = TinyDecoder.weights(TinyDecoder.config(), 1);
        weights.replaceAll((name, tensor) -> {
            boolean adds = name.endsWith("attn_output.weight") || name.endsWith("ffn_down.weight");
            boolean table = name.equals("token_embd.weight") || name.equals("output.weight");
            int rows = (int) tensor.dim(0);
            return adds || table ? Tensor.of(new float[rows * (int) tensor.dim(1)], rows, tensor.dim(1)) : tensor;
        });
        for (int i = 0; i < cycle.length; i++) {
            weights.get("token_embd.weight").set(1, cycle[i], i);
            weights.get("output.weight").set(1, cycle[(i + 1) % cycle.length], i);
        }
        return TinyDecoder.model(cpu, weights);
    }

    @Test
    void aCharacterComesWithTheCallThatCompletesIt() {
        GenerationOptions one = GenerationOptions.DEFAULT.withMaxTokens(1);
        try (LanguageModel model = saying(CYCLE);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            Session whole = sessions.open().append(0xa9);
            assertEquals(TEXT + TEXT, whole.generate(one.withMaxTokens(14)).text());
            Session session = sessions.open().append(0xa9);
            List<String> pieces = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                pieces.add(session.generate(one).text());
            }
            assertEquals(List.of("", "", "", "\ud83d\ude00", "!", "", "\u00e9"), pieces);
            assertEquals("", session.generate(one.withMaxTokens(3)).text());
            Session fork = session.fork();
            assertEquals("\ud83d\ude00!", session.generate(one.withMaxTokens(2)).text());
            assertEquals("\ud83d\ude00!", fork.generate(one.withMaxTokens(2)).text());
            session.truncate(session.length() - 4);
            assertEquals("\ud83d\ude00", session.generate(one.withMaxTokens(3)).text());
            // the prompt ends within a character
            assertEquals("\u00e9", sessions.open().append(0xc3).generate(one).text());
        }
    }

    @Test
    void aSessionThatIsLoadedGoesOnWithinItsCharacter(@TempDir Path folder) throws IOException {
        GenerationOptions two = GenerationOptions.DEFAULT.withMaxTokens(2);
        try (LanguageModel model = saying(CYCLE);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            Session session = sessions.open().append('!', 0xc3, 0xa9);
            session.generate(two);
            session.save(folder.resolve("session"));
            assertEquals(
                    "\ud83d\ude00",
                    sessions.load(folder.resolve("session")).generate(two).text());
        }
    }

    /** Calls end in every way, also within a character. */
    @Test
    void everyEndKeepsTheBytesOfACharacter() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(28);
        try (LanguageModel model = saying(CYCLE);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Sessions small = model.sessions(SessionOptions.DEFAULT.withContextTokens(4))) {
            for (int end = 1; end < 20; end++) {
                int last = end;
                Session cancelled = sessions.open().append(0xa9);
                int[] count = new int[1];
                String first =
                        cancelled.generate(options, token -> ++count[0] < last).text();
                String rest =
                        cancelled.generate(options.withMaxTokens(28 - end)).text();
                assertEquals(TEXT.repeat(4), first + rest);
                int[] bytes = new int[end];
                for (int i = 0; i < end; i++) {
                    bytes[i] = CYCLE[i % 7];
                }
                TextStream stream = new TextStream(model.tokenizer());
                StringBuilder complete = new StringBuilder();
                for (int id : bytes) {
                    complete.append(stream.append(id));
                }
                assertEquals(complete.toString(), first);
            }
            Session full = small.open().append(0xa9);
            GeneratedText text = full.generate(options);
            assertEquals(FinishReason.CONTEXT_FULL, text.finish());
            assertEquals("", text.text());
            Session stopped = sessions.open().append(0xa9);
            assertEquals(
                    "\ud83d\ude00",
                    stopped.generate(options.withStopSequences("!")).text());
            assertEquals(
                    "\u00e9" + TEXT, stopped.generate(options.withMaxTokens(9)).text());
        }
    }

    /**
     * If the model generates an end token within a character, the incomplete bytes become a replacement character, and the next text does
     * not continue them.
     */
    @Test
    void anEndTokenEndsACharacter() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(9);
        try (LanguageModel model = saying('a', 0xf0, 0x9f, TinyDecoder.END);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            Session session = sessions.open().append('a');
            GeneratedText text = session.generate(options);
            assertEquals(FinishReason.END_TOKEN, text.finish());
            assertEquals("\ufffd", text.text());
            assertEquals("", session.generate(options).text());
            assertEquals(3, session.length());
            assertEquals(
                    "", session.truncate(2).generate(options.withMaxTokens(1)).text());
        }
    }

    /**
     * A stop sequence ends the text at the same token, even if an earlier call ended within the stop sequence. The earlier call has
     * returned its text and at most the beginning of the stop sequence.
     */
    @Test
    void stopSequencesAreFoundOverBordersOfCalls() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(21);
        String all = TEXT.repeat(3);
        int within = 0;
        try (LanguageModel model = saying(CYCLE);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            for (int from = 0; from < TEXT.length(); from++) {
                for (int length = 1; length < 7; length++) {
                    String stop = all.substring(from, from + length);
                    GenerationOptions stopped = options.withStopSequences(stop);
                    Session whole = sessions.open().append(0xa9);
                    GeneratedText expected = whole.generate(stopped);
                    for (int first = 1; first < expected.tokens().size(); first++) {
                        Session divided = sessions.open().append(0xa9);
                        GeneratedText begin = divided.generate(stopped.withMaxTokens(first));
                        Session fork = divided.fork();
                        for (Session session : List.of(divided, fork)) {
                            GeneratedText end = session.generate(stopped.withMaxTokens(21 - first));
                            assertEquals(expected.finish(), end.finish());
                            assertArrayEquals(whole.tokens(), session.tokens());
                            String given = begin.text() + end.text();
                            assertTrue(given.startsWith(expected.text()), given);
                            String more = given.substring(expected.text().length());
                            assertTrue(stop.startsWith(more) && !stop.equals(more), more);
                            within += more.isEmpty() ? 0 : 1;
                        }
                    }
                }
            }
        }
        assertTrue(within > 20, within + " calls end within a stop sequence");
    }

    /** A new stop sequence begins neither within a found stop sequence, nor before a new prompt. */
    @Test
    void stopSequencesBeginAnewAfterOneThatWasFoundAndAfterAPrompt() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(10).withStopSequences("aaa");
        try (LanguageModel model = saying('a');
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            Session session = sessions.open().append('a');
            for (int i = 0; i < 3; i++) {
                assertEquals(
                        FinishReason.STOP_SEQUENCE, session.generate(options).finish());
                assertEquals(1 + 3 * (i + 1), session.length());
            }
            session.generate(options.withMaxTokens(2));
            session.append('a');
            assertEquals(3, session.generate(options).tokens().size());
            session.generate(options.withMaxTokens(2));
            session.truncate(session.length() - 1);
            assertEquals(2, session.generate(options).tokens().size());
        }
    }

    /** Returns a constraint that forces these tokens one after the other, and then allows all tokens. */
    private static TokenConstraint writing(int... ids) {
        return vocabulary -> new TokenFilter() {
            private int at;

            @Override
            public void restrict(TokenMask allowed) {
                if (at < ids.length) {
                    boolean known = allowed.allows(ids[at]);
                    allowed.forbidAll();
                    if (known) {
                        allowed.allow(ids[at]);
                    }
                }
            }

            @Override
            public void accept(int token) {
                at++;
            }

            @Override
            public void rollBack(int tokens) {
                at -= tokens;
            }

            @Override
            public TokenFilter fork() {
                throw new UnsupportedOperationException();
            }
        };
    }

    /**
     * A visible control token is part of the text for stop sequences, between calls and within a call. If control tokens are not visible,
     * the text before and after them is contiguous.
     */
    @Test
    void aStopSequenceHasTheControlTokensThatAreShown() {
        try (LanguageModel model = TinyDecoder.model(cpu, 3, List.of("<x>"), 64);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            int[] ids = {'a', model.tokenizer().find("<x>"), 'b'};
            for (boolean shown : new boolean[] {false, true}) {
                for (String stop : List.of("ab", "<x>b", "a<x>", "a<x>b")) {
                    boolean ends = shown == stop.contains("<");
                    GenerationOptions options =
                            GenerationOptions.DEFAULT.withControlTokens(shown).withStopSequences(stop);
                    for (int first = 1; first <= ids.length; first++) {
                        Session session = sessions.open().append("z");
                        FinishReason finish = session.generate(
                                        options.withMaxTokens(first).withConstraint(writing(Arrays.copyOf(ids, first))))
                                .finish();
                        int rest = ids.length - first;
                        if (finish == FinishReason.MAX_TOKENS && rest > 0) {
                            int[] others = Arrays.copyOfRange(ids, first, ids.length);
                            finish = session.generate(
                                            options.withMaxTokens(rest).withConstraint(writing(others)))
                                    .finish();
                        }
                        assertEquals(
                                ends ? FinishReason.STOP_SEQUENCE : FinishReason.MAX_TOKENS,
                                finish,
                                stop + " after " + first + ", shown: " + shown);
                        session.close();
                    }
                }
            }
        }
    }

    /** Random bytes, most of which are not valid UTF-8, are divided randomly into calls. */
    @Test
    void anyDivisionOfAnyBytesHasTheSameText() {
        try (LanguageModel model = TinyDecoder.model(cpu, 1);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            Tokenizer tokenizer = model.tokenizer();
            int inside = 0;
            for (int seed = 0; seed < 150; seed++) {
                SplittableRandom random = new SplittableRandom(seed);
                int tokens = 5 + random.nextInt(30);
                GenerationOptions options = GenerationOptions.DEFAULT
                        .withSampling(Sampling.of(3, seed))
                        .withDraftTokens(random.nextInt(3))
                        .withMaxTokens(tokens);
                try (Session whole = sessions.open().append("ab");
                        Session divided = sessions.open().append("ab")) {
                    GeneratedText text = whole.generate(options);
                    StringBuilder pieces = new StringBuilder();
                    StringBuilder streamed = new StringBuilder();
                    FinishReason finish = null;
                    while (finish != FinishReason.END_TOKEN && divided.length() < whole.length()
                            || finish != text.finish()) {
                        int left = Math.max(1, tokens - (divided.length() - 3));
                        int most = 1 + random.nextInt(left);
                        int until = random.nextBoolean() ? most : 1 + random.nextInt(most);
                        int[] count = new int[1];
                        GeneratedText piece = divided.generate(options.withMaxTokens(most), token -> {
                            streamed.append(token.text());
                            return ++count[0] < until;
                        });
                        pieces.append(piece.text());
                        finish = piece.finish() == FinishReason.CANCELLED ? FinishReason.MAX_TOKENS : piece.finish();
                    }
                    assertArrayEquals(whole.tokens(), divided.tokens());
                    assertEquals(text.text(), pieces.toString(), "seed " + seed);
                    assertEquals(text.text(), streamed.toString(), "seed " + seed);
                    int[] generated =
                            text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
                    String all = tokenizer.decode(generated);
                    assertTrue(all.startsWith(text.text())
                            && all.length() <= text.text().length() + 1);
                    inside += all.equals(text.text()) ? 0 : 1;
                }
            }
            assertTrue(inside > 5, inside + " texts end within a character");
            assertEquals(Set.of(TinyDecoder.END), tokenizer.specialIds().stopTokens());
        }
    }
}
