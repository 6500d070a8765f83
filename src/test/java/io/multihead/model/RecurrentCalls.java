package io.multihead.model;

import io.multihead.cache.RecurrentCache;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.SplittableRandom;

/** Calls of a part that keeps recurrent states. */
final class RecurrentCalls {
    private RecurrentCalls() {}

    /** Computes all tokens of a sequence in one call. */
    static float[] whole(Compute cpu, Part part, Tensor x) {
        int tokens = (int) x.dim(0);
        TokenBatch batch = TokenBatch.of(tokens);
        batch.begin();
        for (int i = 0; i < tokens; i++) {
            batch.add(0);
        }
        Tensor y = Tensor.of(new float[tokens * part.dim()], tokens, part.dim());
        part.forward(cpu, batch, x, y, part.buffers(tokens));
        return y.toArray();
    }

    static RecurrentCache cache(Part part) {
        return RecurrentCache.of(part.states().stream()
                .mapToInt(size -> ((RecurrentSizes) size).floats())
                .toArray());
    }

    /** Computes the tokens of a sequence in calls of random sizes, some of them in a batch with another sequence. */
    static float[] divided(Compute cpu, Part part, Tensor x, SplittableRandom random) {
        int tokens = (int) x.dim(0);
        int dim = part.dim();
        RecurrentCache cache = cache(part);
        int first = cache.open();
        int second = cache.open();
        TokenBatch batch = TokenBatch.of(cache, tokens + 2);
        Buffers buffers = part.buffers(tokens + 2);
        float[] all = new float[tokens * dim];
        for (int done = 0; done < tokens; ) {
            int count = random.nextInt(4) == 0 ? 1 : random.nextInt(1, tokens - done + 1);
            int others = random.nextInt(3);
            batch.clear();
            if (others > 0) {
                batch.begin(second);
            }
            for (int i = 0; i < others; i++) {
                batch.add(0);
            }
            batch.begin(first);
            for (int i = 0; i < count; i++) {
                batch.add(0);
            }
            float[] rows = new float[(others + count) * dim];
            Arrays.fill(rows, 0, others * dim, 3f);
            System.arraycopy(x.toArray(), done * dim, rows, others * dim, count * dim);
            Tensor y = Tensor.of(new float[rows.length], others + count, dim);
            part.forward(cpu, batch, Tensor.of(rows, others + count, dim), y, buffers);
            System.arraycopy(y.toArray(), others * dim, all, done * dim, count * dim);
            done += count;
        }
        return all;
    }
}
