package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Interrupts and timeouts end a call within a step, and do not change the text of the session. */
class SessionCancelTest {
    private static final GenerationOptions OPTIONS =
            GenerationOptions.DEFAULT.withSampling(Sampling.of(1.5, 7)).withMaxTokens(30);

    private final Compute cpu = Compute.threads(2);
    private final LanguageModel model = TinyDecoder.endless(cpu, 1);
    private final Sessions sessions =
            model.sessions(SessionOptions.DEFAULT.withSessions(3).withKeptPrefixes(false), 1);

    @AfterEach
    void close() {
        Thread.interrupted();
        sessions.close();
        model.close();
        cpu.close();
    }

    private static int[] prompt(int length) {
        int[] ids = new int[length];
        Arrays.setAll(ids, i -> 'a' + i % 7);
        return ids;
    }

    private int[] whole(int[] prompt) {
        try (Session session = sessions.open().append(prompt)) {
            session.generate(OPTIONS);
            return session.tokens();
        }
    }

    @Test
    void anInterruptBetweenTokensEndsTheCallAndTheSessionGoesOn() {
        int[] whole = whole(prompt(5));
        for (int at : new int[] {1, 2, 17}) {
            Session session = sessions.open().append(prompt(5));
            assertThrows(
                    CancellationException.class,
                    () -> session.generate(OPTIONS.withDraftTokens(at), token -> {
                        if (session.length() == 5 + at) {
                            Thread.currentThread().interrupt();
                        }
                        return true;
                    }));
            assertTrue(Thread.interrupted(), "the interrupt flag must remain set");
            assertEquals(5 + at, session.length());
            session.generate(OPTIONS.withMaxTokens(30 - at));
            assertArrayEquals(whole, session.tokens());
            session.close();
        }
    }

    /** One session interrupts the call while another session computes its prompt, one token per step. */
    @Test
    void anInterruptWithinAPromptEndsTheCall() {
        int[] whole = whole(prompt(150));
        Session slow = sessions.open().append(prompt(150));
        Session talking = sessions.open().append(prompt(1));
        Generation waiting = slow.begin(OPTIONS, TokenListener.NONE);
        Generation interrupting = talking.begin(OPTIONS, token -> {
            if (talking.length() == 4) {
                Thread.currentThread().interrupt();
            }
            return true;
        });
        assertThrows(
                CancellationException.class,
                () -> Generations.run(slow.state.cache, List.of(waiting, interrupting), 1));
        assertTrue(Thread.interrupted());
        assertEquals(3, slow.state.computed);
        slow.generate(OPTIONS);
        assertArrayEquals(whole, slow.tokens());
    }

    @Test
    void aThreadThatIsInterruptedBeginsNoCall() {
        Session session = sessions.open().append(prompt(5));
        for (Runnable call : List.<Runnable>of(
                () -> session.generate(OPTIONS),
                session::nextLogits,
                () -> sessions.generate(List.of(session), List.of(OPTIONS)))) {
            Thread.currentThread().interrupt();
            String message =
                    assertThrows(CancellationException.class, call::run).getMessage();
            assertEquals("session: the calling thread was interrupted; expected no interrupt", message);
            assertTrue(Thread.interrupted());
        }
        assertEquals(0, session.cacheBytes());
        session.generate(OPTIONS);
        assertArrayEquals(whole(prompt(5)), session.tokens());
    }

    @Test
    void anEmbedderComputesNothingOnAnInterruptedThread() {
        TextEmbedder embedder = model.embedder();
        List<String> texts = List.of("ab", "cd");
        for (Supplier<float[][]> call :
                List.<Supplier<float[][]>>of(() -> embedder.embed(texts), () -> embedder.embedChunks(texts))) {
            float[][] whole = call.get();
            Thread.currentThread().interrupt();
            String message =
                    assertThrows(CancellationException.class, call::get).getMessage();
            assertEquals("embedder: the calling thread was interrupted; expected no interrupt", message);
            assertTrue(Thread.interrupted());
            assertArrayEquals(whole, call.get());
        }
    }

    @Test
    void aTimeoutEndsTheTextWithWhatThereIs() {
        int[] whole = whole(prompt(150));
        Session session = sessions.open().append(prompt(150));
        GeneratedText none = session.generate(OPTIONS.withTimeout(Duration.ofNanos(1)));
        assertEquals(FinishReason.TIMEOUT, none.finish());
        assertEquals("", none.text());
        assertEquals(150, session.length());
        Duration time = Duration.ofMillis(500);
        GeneratedText some = session.generate(OPTIONS.withTimeout(time), token -> {
            if (session.length() == 153) {
                sleep(time);
            }
            return true;
        });
        assertEquals(FinishReason.TIMEOUT, some.finish());
        assertTrue(some.tokens().size() <= 3, some.tokens().size() + " tokens");
        session.generate(OPTIONS.withMaxTokens(180 - session.length()));
        assertArrayEquals(whole, session.tokens());
    }

    /** A timeout returns withheld text, which may be the beginning of a stop sequence. */
    @Test
    void aTimeoutReleasesWhatWasHeldBack() {
        String text;
        try (Session session = sessions.open().append(prompt(5))) {
            text = session.generate(OPTIONS.withMaxTokens(2)).text();
        }
        // the timeout grows, because on a busy machine it may end before both tokens are generated
        boolean isHeld = false;
        for (Duration time = Duration.ofMillis(100); !isHeld; time = time.multipliedBy(2)) {
            try (Session session = sessions.open().append(prompt(5))) {
                Duration timeout = time;
                GenerationOptions options = OPTIONS.withTimeout(timeout).withStopSequences(text + "\u0000\u0000");
                GeneratedText held = session.generate(options, token -> {
                    if (session.length() == 7) {
                        sleep(timeout);
                    }
                    return true;
                });
                assertEquals(FinishReason.TIMEOUT, held.finish());
                isHeld = session.length() == 7;
                assertTrue(!isHeld || held.text().equals(text), held.text());
            }
        }
    }

    private static void sleep(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    @Test
    void limitsOutOfRangeAreNamed() {
        for (Duration none : List.of(Duration.ZERO, Duration.ofMillis(-5))) {
            String message = assertThrows(IllegalArgumentException.class, () -> OPTIONS.withTimeout(none))
                    .getMessage();
            assertEquals("timeout: " + none + "; expected more than zero", message);
        }
        assertFalse(OPTIONS.timeout().minusNanos(1).isNegative());
        assertEquals(255, OPTIONS.withDraftTokens(255).draftTokens());
        String message = assertThrows(IllegalArgumentException.class, () -> OPTIONS.withDraftTokens(256))
                .getMessage();
        assertEquals("draftTokens: 256; expected 0 to 255", message);
    }
}
