package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.support.Patience;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * Two threads use buffers or batches simultaneously. The second thread gets an error that names them, and the first
 * thread gets the same bits as alone.
 */
class SharedBuffersTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int TOKENS = 6;
    private static final ModelCase CASE =
            new ModelCase(new ModelCase.Shape(32, 4, 2, 16, 64, 2), ModelCase.Options.llama(0), 1);
    private static final String IN_USE = ": in use by a call; expected ";

    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch goesOn = new CountDownLatch(1);

    @Test
    void theSecondCallerIsRefusedAndTheFirstHasItsBits() throws Exception {
        Transformer model = CASE.model;
        float[] expected = states(model, model.buffers(TOKENS), batch(1));
        Transformer waiting = waiting(model);
        Buffers buffers = waiting.buffers(TOKENS);
        TokenBatch batch = batch(1);
        try (ExecutorService other = Executors.newSingleThreadExecutor()) {
            Future<float[]> first = other.submit(() -> states(waiting, buffers, batch));
            assertTrue(begun.await(Patience.HANG_SECONDS, TimeUnit.SECONDS));
            Tensor outputs = Tensor.of(new float[32], 1, 32);
            assertInUse("buffers", () -> model.forward(SERIAL, batch(2), buffers));
            assertInUse("buffers", () -> model.outputs(SERIAL, new int[1], outputs, buffers));
            Tensor logits = Tensor.of(new float[ModelCase.VOCABULARY], 1, ModelCase.VOCABULARY);
            assertInUse("buffers", () -> model.logits(SERIAL, new int[1], logits, buffers));
            Buffers own = model.buffers(TOKENS);
            assertInUse("batch", () -> model.forward(SERIAL, batch, own));
            assertInUse("batch", batch::clear);
            assertInUse("batch", batch::begin);
            assertInUse("batch", () -> batch.add(1));
            assertInUse("batch", batch::endKeys);
            goesOn.countDown();
            assertArrayEquals(expected, first.get(Patience.HANG_SECONDS, TimeUnit.SECONDS));
            assertForeign(buffers::states);
            assertForeign(() -> model.outputs(SERIAL, new int[1], outputs, buffers));
        }
        // after a call of this thread, it may read the results
        assertArrayEquals(expected, states(model, buffers, batch(1)));
    }

    @Test
    void callsOfTwoThreadsAreRightOrRefused() throws Exception {
        Transformer model = CASE.model;
        Buffers buffers = model.buffers(TOKENS);
        int calls = 2000;
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            List<Future<Integer>> right = List.of(
                    threads.submit(() -> right(model, buffers, calls, 1)),
                    threads.submit(() -> right(model, buffers, calls, 2)));
            int all = right.get(0).get(Patience.HANG_SECONDS, TimeUnit.SECONDS)
                    + right.get(1).get(Patience.HANG_SECONDS, TimeUnit.SECONDS);
            assertTrue(all > 0, "no call was let through");
        }
    }

    /** Returns the number of calls that were not refused. Each of these calls must return the expected states. */
    private static int right(Transformer model, Buffers buffers, int calls, int seed) {
        float[] expected = states(model, model.buffers(TOKENS), batch(seed));
        TokenBatch batch = batch(seed);
        int right = 0;
        for (int i = 0; i < calls; i++) {
            float[] actual;
            try {
                model.forward(SERIAL, batch, buffers);
                Tensor outputs = Tensor.of(new float[TOKENS * 32], TOKENS, 32);
                model.outputs(SERIAL, new int[] {0, 1, 2, 3, 4, 5}, outputs, buffers);
                actual = outputs.toArray();
            } catch (IllegalStateException e) {
                assertTrue(e.getMessage().startsWith("buffers: "), e.getMessage());
                continue;
            }
            assertArrayEquals(expected, actual);
            right++;
        }
        return right;
    }

    private static void assertInUse(String object, Executable call) {
        IllegalStateException error = assertThrows(IllegalStateException.class, call);
        assertEquals(object + IN_USE + object + " of each thread's own", error.getMessage());
    }

    private static void assertForeign(Executable call) {
        String message = assertThrows(IllegalStateException.class, call).getMessage();
        assertTrue(message.matches("buffers: results of a call of thread \\d+; expected .*"), message);
    }

    /** Returns the model with a first block in which attention waits and does not change scores. */
    private Transformer waiting(Transformer model) {
        Block first = model.blocks().get(0);
        SelfAttention part = first.attention();
        AttentionOptions options = AttentionOptions.CAUSAL.withScores(ScoreOptions.NONE.withModifier(this::wait));
        SelfAttention waiting = SelfAttention.of(4, 2, part.projections(), part.output(), options);
        return model.withBlocks(
                List.of(first.withAttention(waiting), model.blocks().get(1)));
    }

    private float wait(long batch, long head, long query, long key, float score) {
        begun.countDown();
        try {
            assertTrue(goesOn.await(Patience.HANG_SECONDS, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return score;
    }

    private static float[] states(Transformer model, Buffers buffers, TokenBatch batch) {
        model.forward(SERIAL, batch, buffers);
        Tensor outputs = Tensor.of(new float[TOKENS * 32], TOKENS, 32);
        model.outputs(SERIAL, new int[] {0, 1, 2, 3, 4, 5}, outputs, buffers);
        return outputs.toArray();
    }

    private static TokenBatch batch(int seed) {
        TokenBatch batch = TokenBatch.of(TOKENS);
        batch.begin();
        for (int token = 0; token < TOKENS; token++) {
            batch.add((token * 7 + seed * 13) % ModelCase.VOCABULARY);
        }
        return batch;
    }
}
