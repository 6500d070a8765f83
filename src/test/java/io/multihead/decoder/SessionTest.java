package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SessionTest {
    /** Options that generate random bytes, which seldom end, because the model is not trained. */
    private static final GenerationOptions DRAWN =
            GenerationOptions.DEFAULT.withSampling(Sampling.of(1.5, 11)).withMaxTokens(40);

    private final Compute cpu = Compute.serial();
    private final LanguageModel model = TinyDecoder.model(cpu, 1);
    private final Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(4));

    @AfterEach
    void close() {
        sessions.close();
        model.close();
        cpu.close();
    }

    private static int[] ids(GeneratedText text) {
        return text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
    }

    @Test
    void aTextHasADifferentTokenNowAndThen() {
        GeneratedText text = sessions.open().append("Hello").generate(DRAWN);
        assertTrue(Arrays.stream(ids(text)).distinct().count() > 10, Arrays.toString(ids(text)));
    }

    @Test
    void rowsBeyondTheVocabularyAreNeverChosen() {
        for (int seed = 0; seed < 20; seed++) {
            GeneratedText text = sessions.open().append("a").generate(DRAWN.withSampling(Sampling.of(100, seed)));
            assertTrue(Arrays.stream(ids(text)).allMatch(id -> id < 258));
        }
        assertEquals(258, model.vocabularySize());
    }

    @Test
    void theFirstTextHasTheBeginTokenAndOthersNot() {
        Session session = sessions.open().append("a").append("b");
        assertArrayEquals(new int[] {TinyDecoder.BEGIN, 'a', 'b'}, session.tokens());
    }

    @Test
    void controlTokensInATextAreText() {
        assertEquals(5, sessions.open().append("</s>").length());
    }

    @Test
    void aTextEndsAtItsMaximum() {
        Session session = sessions.open().append("abc");
        GeneratedText text = session.generate(DRAWN.withMaxTokens(7));
        assertEquals(FinishReason.MAX_TOKENS, text.finish());
        assertEquals(7, text.tokens().size());
        assertEquals(4, text.promptTokens());
        assertEquals(11, session.length());
    }

    @Test
    void aTextGoesOnWhereItEnded() {
        int[] whole = ids(sessions.open().append("abc").generate(DRAWN));
        Session session = sessions.open().append("abc");
        int[] first = ids(session.generate(DRAWN.withMaxTokens(9)));
        int[] rest = ids(session.generate(DRAWN.withMaxTokens(whole.length - 9)));
        assertArrayEquals(Arrays.copyOf(whole, 9), first);
        assertArrayEquals(Arrays.copyOfRange(whole, 9, whole.length), rest);
    }

    @Test
    void anEndTokenEndsTheTextAndIsNoPartOfIt() {
        Session session = sessions.open().append("abc");
        GeneratedText text = null;
        for (int seed = 0; text == null || text.finish() != FinishReason.END_TOKEN; seed++) {
            session.truncate(4);
            text = session.generate(DRAWN.withMaxTokens(150).withSampling(Sampling.of(3, seed)));
        }
        assertEquals(TinyDecoder.END, text.tokens().getLast().id());
        assertEquals(4 + text.tokens().size() - 1, session.length());
        int[] tokens = session.tokens();
        assertTrue(Arrays.stream(tokens).noneMatch(id -> id == TinyDecoder.END));
        // all tokens are computed already, so the logits of the last token are computed once more
        session.generate(DRAWN.withMaxTokens(1));
        assertArrayEquals(tokens, Arrays.copyOf(session.tokens(), tokens.length));
    }

    @Test
    void aStopTextEndsTheTextAndIsCutOff() {
        String whole = sessions.open().append("abc").generate(DRAWN).text();
        String stop = whole.substring(8, 11);
        StringBuilder streamed = new StringBuilder();
        GeneratedText text = sessions.open()
                .append("abc")
                .generate(
                        DRAWN.withStopSequences("no such text", stop), token -> streamed.append(token.text()) != null);
        assertEquals(FinishReason.STOP_SEQUENCE, text.finish());
        assertEquals(whole.substring(0, whole.indexOf(stop)), text.text());
        assertEquals(text.text(), streamed.toString());
    }

    /** A stop sequence of one letter waits for a longer one that may contain it, which is not complete at the last token. */
    @Test
    void aStopTextThatWaitsEndsTheTextWhereItEndsAnyway() {
        List<String> heard = new ArrayList<>();
        String whole = sessions.open()
                .append("abc")
                .generate(DRAWN, token -> heard.add(token.text()))
                .text();
        int at = 1;
        while (whole.indexOf(whole.charAt(at)) < at || Math.max(whole.charAt(at), whole.charAt(at - 1)) > 'z') {
            at++;
        }
        int tokens = 0;
        for (int length = 0; length <= at; tokens++) {
            length += heard.get(tokens).length();
        }
        String stop = whole.substring(at, at + 1);
        String longer = whole.substring(at - 1, at + 1) + "\u0000\u0000";
        StringBuilder streamed = new StringBuilder();
        GeneratedText text = sessions.open()
                .append("abc")
                .generate(
                        DRAWN.withMaxTokens(tokens).withStopSequences(stop, longer),
                        token -> streamed.append(token.text()) != null);
        assertEquals(FinishReason.STOP_SEQUENCE, text.finish());
        assertEquals(whole.substring(0, at), text.text());
        assertEquals(text.text(), streamed.toString());
        assertEquals(tokens, text.tokens().size());
    }

    @Test
    void aListenerEndsTheText() {
        List<String> heard = new ArrayList<>();
        Session session = sessions.open().append("abc");
        GeneratedText text = session.generate(DRAWN, token -> heard.add(token.text()) && heard.size() < 5);
        assertEquals(FinishReason.CANCELLED, text.finish());
        assertEquals(5, text.tokens().size());
        assertEquals(String.join("", heard), text.text());
        assertEquals(9, session.length());
    }

    @Test
    void aCancelledTextTellsNothingMoreAndGoesOnWhereItEnded() {
        GenerationOptions greedy = GenerationOptions.DEFAULT.withMaxTokens(30);
        for (GenerationOptions options : List.of(DRAWN, DRAWN.withDraftTokens(4), greedy.withDraftTokens(4))) {
            int[] whole = ids(sessions.open().append("abcdabcdabc").generate(options));
            for (int most = 1; most < 12; most++) {
                int last = most;
                List<Integer> heard = new ArrayList<>();
                Session session = sessions.open().append("abcdabcdabc");
                GeneratedText cut = session.generate(options, token -> heard.add(token.id()) && heard.size() < last);
                assertEquals(FinishReason.CANCELLED, cut.finish());
                assertArrayEquals(
                        Arrays.copyOf(whole, most),
                        heard.stream().mapToInt(id -> id).toArray());
                assertEquals(12 + most, session.length());
                int[] rest = ids(session.generate(options.withMaxTokens(whole.length - most)));
                assertArrayEquals(Arrays.copyOfRange(whole, most, whole.length), rest);
                assertEquals(most, heard.size());
                session.close();
            }
        }
    }

    @Test
    void aListenerThatThrowsLeavesTheSessionWhole() {
        Session session = sessions.open().append("abc");
        int[] whole = ids(sessions.open().append("abc").generate(DRAWN));
        assertThrows(
                UnsupportedOperationException.class,
                () -> session.generate(DRAWN, token -> {
                    throw new UnsupportedOperationException();
                }));
        assertEquals(5, session.length());
        int[] rest = ids(session.generate(DRAWN.withMaxTokens(whole.length - 1)));
        assertArrayEquals(Arrays.copyOfRange(whole, 1, whole.length), rest);
    }

    @Test
    void aListenerThatThrowsAmongGuessesLeavesTheSessionWhole() {
        GenerationOptions greedy = GenerationOptions.DEFAULT.withMaxTokens(30);
        int[] whole = ids(sessions.open().append("abcdabcdabc").generate(greedy));
        Session session = sessions.open().append("abcdabcdabc");
        for (int tokens = 1; tokens < 12; tokens++) {
            assertThrows(
                    UnsupportedOperationException.class,
                    () -> session.generate(greedy.withDraftTokens(5), token -> {
                        throw new UnsupportedOperationException();
                    }));
            assertEquals(12 + tokens, session.length());
        }
        Session fork = session.fork();
        int[] rest = Arrays.copyOfRange(whole, 11, whole.length);
        assertArrayEquals(rest, ids(session.generate(greedy.withMaxTokens(rest.length))));
        assertArrayEquals(rest, ids(fork.generate(greedy.withMaxTokens(rest.length))));
    }

    @Test
    void aSessionWhoseListenerThrowsDoesNotChangeOthersOfTheBatch() {
        int[] whole = ids(sessions.open().append(prompt(20)).generate(DRAWN));
        Session first = sessions.open().append(prompt(20));
        Session second = sessions.open().append(prompt(20));
        Generation throwing = second.begin(DRAWN, token -> {
            throw new UnsupportedOperationException();
        });
        Generation other = first.begin(DRAWN, TokenListener.NONE);
        assertThrows(
                UnsupportedOperationException.class,
                () -> Generations.run(first.state.cache, List.of(other, throwing), Generations.CHUNK_TOKENS));
        assertArrayEquals(whole, ids(other.result()));
        int[] rest = ids(second.generate(DRAWN.withMaxTokens(whole.length - 1)));
        assertArrayEquals(Arrays.copyOfRange(whole, 1, whole.length), rest);
    }

    @Test
    void whatWasHeldBackIsInACancelledText() {
        String whole = sessions.open().append("abc").generate(DRAWN).text();
        GeneratedText text = sessions.open()
                .append("abc")
                .generate(DRAWN.withStopSequences(whole.substring(0, 1) + "\u0000\u0000"), token -> false);
        assertEquals(FinishReason.CANCELLED, text.finish());
        assertEquals(1, text.tokens().size());
        assertTrue(whole.startsWith(text.text()) && !text.text().isEmpty(), text.text());
    }

    @Test
    void logitsOfTheNextTokenAreThoseThatItIsChosenBy() {
        Session session = sessions.open().append(prompt(70));
        float[] logits = session.nextLogits();
        assertEquals(258, logits.length);
        assertArrayEquals(logits, session.nextLogits());
        int best = 0;
        for (int id = 1; id < logits.length; id++) {
            best = logits[id] > logits[best] ? id : best;
        }
        assertEquals(best, ids(session.generate(GenerationOptions.DEFAULT.withMaxTokens(1)))[0]);
        try (Sessions inChunks = model.sessions(SessionOptions.DEFAULT, 7)) {
            assertArrayEquals(logits, inChunks.open().append(prompt(70)).nextLogits());
        }
        Session empty = sessions.open();
        assertThrows(IllegalStateException.class, empty::nextLogits);
    }

    @Test
    void logProbabilitiesAreThereWhereTheyAreAskedFor() {
        GeneratedText text = sessions.open().append("abc").generate(DRAWN.withLogProbabilities(true));
        assertTrue(text.tokens().stream().allMatch(token -> token.logProbability() < 0));
        GeneratedText without = sessions.open().append("abc").generate(DRAWN);
        assertTrue(without.tokens().stream().allMatch(token -> Double.isNaN(token.logProbability())));
        assertArrayEquals(ids(without), ids(text));
    }

    @Test
    void aFullContextEndsTheText() {
        try (Sessions small = model.sessions(SessionOptions.DEFAULT.withContextTokens(20))) {
            Session session = small.open().append(prompt(15));
            GeneratedText text = session.generate(DRAWN);
            assertEquals(FinishReason.CONTEXT_FULL, text.finish());
            assertEquals(5, text.tokens().size());
            assertEquals(20, session.length());
            GeneratedText more = session.generate(DRAWN);
            assertEquals(FinishReason.CONTEXT_FULL, more.finish());
            assertEquals(0, more.tokens().size());
            assertEquals(20, session.length());
        }
    }

    /** The last token of a sliding text has no room yet. A request for its logits evicts the oldest tokens. */
    @Test
    void logitsAfterASlideAreThoseOfTheTextThatGoesOn() {
        GenerationOptions sliding = GenerationOptions.DEFAULT.withWhenFull(WhenFull.SLIDE);
        try (LanguageModel endless = TinyDecoder.endless(cpu, 1);
                Sessions small = endless.sessions(SessionOptions.DEFAULT.withContextTokens(20))) {
            for (int tokens = 5; tokens < 90; tokens += 7) {
                Session session = small.open().append(prompt(15));
                session.generate(sliding.withMaxTokens(tokens));
                float[] logits = session.nextLogits();
                int best = 0;
                for (int id = 1; id < logits.length; id++) {
                    best = logits[id] > logits[best] ? id : best;
                }
                GeneratedToken next = session.generate(sliding.withMaxTokens(1).withLogProbabilities(true))
                        .tokens()
                        .getFirst();
                double sum = 0;
                for (float logit : logits) {
                    sum += Math.exp(logit - logits[best]);
                }
                assertEquals(best, next.id(), tokens + " tokens");
                // the model sums exponentials in f32
                assertEquals(-Math.log(sum), next.logProbability(), 1e-5, tokens + " tokens");
                session.close();
            }
        }
    }

    @Test
    void aFullContextSlidesWhereItMay() {
        try (LanguageModel endless = TinyDecoder.endless(cpu, 1);
                Sessions small = endless.sessions(SessionOptions.DEFAULT.withContextTokens(20))) {
            Session session = small.open().append(prompt(15));
            GeneratedText text =
                    session.generate(DRAWN.withWhenFull(WhenFull.SLIDE).withMaxTokens(600));
            assertEquals(FinishReason.MAX_TOKENS, text.finish());
            assertEquals(615, session.length());
            assertTrue(small.usedBytes() <= 6 * 64 * small.bytesPerToken(), small.usedBytes() + " bytes");
            String message = assertThrows(IllegalArgumentException.class, () -> session.truncate(3))
                    .getMessage();
            assertTrue(message.startsWith("length: 3; expected at least 594"), message);
        }
    }

    @Test
    void whatSlidingDoesNotDropIsNoOtherText() {
        GenerationOptions sliding = DRAWN.withWhenFull(WhenFull.SLIDE);
        try (Sessions small = model.sessions(SessionOptions.DEFAULT.withContextTokens(100))) {
            int[] expected = ids(sessions.open().append(prompt(50)).generate(DRAWN));
            assertArrayEquals(expected, ids(small.open().append(prompt(50)).generate(sliding)));
        }
    }

    private static int[] prompt(int length) {
        int[] ids = new int[length];
        Arrays.setAll(ids, i -> 'a' + i % 7);
        return ids;
    }

    @Test
    void anAppendBeyondTheContextAppendsNothing() {
        Session session = sessions.open().append(prompt(150));
        String message = assertThrows(IllegalArgumentException.class, () -> session.append(prompt(51)))
                .getMessage();
        String room = "51 tokens after 150; expected a context of at most 200";
        assertEquals("ids: " + room, message);
        message = assertThrows(IllegalArgumentException.class, () -> session.append("a".repeat(51)))
                .getMessage();
        assertEquals("text: " + room, message);
        assertEquals(150, session.length());
        assertThrows(IllegalArgumentException.class, () -> session.append(1, 258));
        assertEquals(150, session.length());
    }

    @Test
    void aForkGoesItsOwnWay() {
        Session session = sessions.open().append(prompt(70));
        session.generate(DRAWN.withMaxTokens(5));
        Session fork = session.fork();
        fork.truncate(70).append('z');
        fork.generate(DRAWN.withMaxTokens(5));
        int[] rest = ids(session.generate(DRAWN.withMaxTokens(20)));
        int[] whole = ids(sessions.open().append(prompt(70)).generate(DRAWN.withMaxTokens(25)));
        assertArrayEquals(Arrays.copyOfRange(whole, 5, 25), rest);
    }

    @Test
    void wrongCallsAreNamed() {
        Session session = sessions.open();
        String message = assertThrows(IllegalStateException.class, () -> session.generate(DRAWN))
                .getMessage();
        assertEquals("session: no tokens; expected a prompt", message);
        session.append("a");
        assertThrows(
                IllegalArgumentException.class,
                () -> sessions.generate(List.of(session, session), List.of(DRAWN, DRAWN)));
        assertThrows(IllegalArgumentException.class, () -> sessions.generate(List.of(session), List.of()));
        assertThrows(IllegalArgumentException.class, () -> session.truncate(3));
        assertThrows(
                IllegalArgumentException.class, () -> model.sessions(SessionOptions.DEFAULT.withContextTokens(201)));
        assertThrows(IllegalArgumentException.class, () -> session.appendChat(List.of(ChatMessage.user("Hello"))));
        session.close();
        session.close();
        assertThrows(IllegalStateException.class, () -> session.append("a"));
    }

    @Test
    void aTemplateWhoseTokensTheVocabularyHasNotIsNamed() {
        LanguageModel chatting = model.withChatTemplate(ChatTemplate.QWEN_3);
        try (Sessions chats = chatting.sessions(SessionOptions.DEFAULT)) {
            Session session = chats.open();
            String message = assertThrows(
                            IllegalArgumentException.class,
                            () -> session.appendChat(List.of(ChatMessage.user("Hello"))))
                    .getMessage();
            assertEquals("chat_template: control token <|im_start|>; expected one of the vocabulary", message);
        }
    }

    @Test
    void closingEndsWhatIsGenerated() throws InterruptedException {
        CountDownLatch running = new CountDownLatch(1);
        LanguageModel endless = TinyDecoder.endless(cpu, 1);
        Sessions closing = endless.sessions(SessionOptions.DEFAULT);
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<?> text = thread.submit(() -> closing.open()
                    .append("a")
                    .generate(DRAWN.withMaxTokens(100_000).withWhenFull(WhenFull.SLIDE), token -> {
                        running.countDown();
                        return true;
                    }));
            running.await();
            closing.close();
            Throwable failure =
                    assertThrows(ExecutionException.class, text::get).getCause();
            assertInstanceOf(IllegalStateException.class, failure);
            assertEquals("sessions: closed; expected open sessions", failure.getMessage());
        }
        assertThrows(IllegalStateException.class, closing::open);
        endless.close();
    }

    @Test
    void aTextWithoutFiniteLogitsFailsAloneInItsBatch() {
        Map<String, Tensor> weights = TinyDecoder.weights(TinyDecoder.config(), 1);
        weights.get("token_embd.weight").set(Double.NaN, 'z', 0);
        GenerationOptions options = DRAWN.withMaxTokens(8);
        int[] whole = ids(sessions.open().append("abc").generate(options));
        try (LanguageModel poisoned = TinyDecoder.model(cpu, weights);
                Sessions of = poisoned.sessions(SessionOptions.DEFAULT)) {
            Session good = of.open().append("abc");
            Session bad = of.open().append("xyz");
            assertThrows(ArithmeticException.class, () -> of.generate(List.of(bad, good), List.of(options, options)));
            assertArrayEquals(whole, Arrays.copyOfRange(good.tokens(), 4, 12));
            assertEquals(4, bad.length());
            String message =
                    assertThrows(ArithmeticException.class, bad::nextLogits).getMessage();
            assertTrue(message.startsWith("logits: NaN for token 0; expected finite numbers"), message);
            // the pages of the closed session are reused
            bad.close();
            assertArrayEquals(whole, ids(of.open().append("abc").generate(options)));
        }
    }

    @Test
    void aCacheWhoseNumbersEndTooEarlyIsNamed() {
        Map<String, Tensor> weights = TinyDecoder.weights(TinyDecoder.config(), 1);
        Tensor values = weights.get("blk.0.attn_v.weight");
        for (int column = 0; column < 32; column++) {
            values.set(1e6, 0, column);
        }
        try (LanguageModel large = TinyDecoder.model(cpu, weights);
                Sessions halves = large.sessions(SessionOptions.DEFAULT);
                Sessions whole = large.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32))) {
            String message = assertThrows(
                            ArithmeticException.class,
                            () -> halves.open().append("abc").generate(DRAWN))
                    .getMessage();
            assertTrue(message.endsWith("a cache in F16, whose numbers end at 65504, do not give"), message);
            assertEquals(258, whole.open().append("abc").nextLogits().length);
        }
    }

    /** Only running calls have memory for logits. Idle sessions have no logits. */
    @Test
    void anIdleSessionHasNoLogits() {
        Session session = sessions.open().append("abcabcabc");
        session.generate(DRAWN.withDraftTokens(4));
        session.nextLogits();
        assertEquals(List.of(), session.state.step.logits);
    }

    @Test
    void aTensorThatIsMissingOrLeftOverIsNamed() {
        Map<String, Tensor> weights = TinyDecoder.weights(TinyDecoder.config(), 1);
        Tensor one = weights.remove("blk.1.ffn_up.weight");
        String missing = assertThrows(IllegalArgumentException.class, () -> TinyDecoder.model(cpu, weights))
                .getMessage();
        assertTrue(missing.startsWith("tensor \"blk.1.ffn_up.weight\": not in the file"), missing);
        weights.put("blk.1.ffn_up.weight", one);
        weights.put("blk.2.extra", one);
        String extra = assertThrows(IllegalArgumentException.class, () -> TinyDecoder.model(cpu, weights))
                .getMessage();
        assertEquals("tensors: 1 of no use, such as blk.2.extra; expected none", extra);
    }
}
