package io.multihead.decoder;

import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.model.Buffers;
import io.multihead.model.SelfAttention;
import io.multihead.model.Sublayer;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Runs batches of steps through a model. Not thread-safe; a warm call allocates nothing. */
final class StepRunner {
    /** The number of rows of logits that are computed together. The head is read once for all of them. */
    private static final int ROWS = 16;

    private final Compute cpu;
    private final Transformer model;
    private final SequenceCache cache;
    private final int capacity;
    private final TokenBatch batch;
    private final int vocabulary;
    private @Nullable Buffers buffers;
    private final float[] logits;
    /** Lends arrays to steps. */
    final LogitRows rowsOfLogits;

    private final int[][] rows = new int[ROWS + 1][];
    private final Tensor[] outputs = new Tensor[ROWS + 1];
    /** The step to which a row of logits belongs; {@link #ownerRows} has the row of this step. */
    private final Step[] owners = new Step[ROWS];

    private final List<Step> together = new ArrayList<>();
    private final int[] ownerRows = new int[ROWS];
    private final int[] wanted = new int[ROWS];

    StepRunner(Compute cpu, Transformer model, SequenceCache cache, int capacity) {
        this.cpu = cpu;
        this.model = model;
        this.cache = cache;
        this.capacity = capacity;
        batch = TokenBatch.of(cache, capacity);
        vocabulary = model.logits();
        logits = new float[ROWS * vocabulary];
        rowsOfLogits = new LogitRows(vocabulary);
        for (int count = 1; count <= ROWS; count++) {
            rows[count] = new int[count];
            outputs[count] = Tensor.view(MemorySegment.ofArray(logits), DType.F32, Shape.of(count, vocabulary));
        }
    }

    /** Returns the number of query heads of a layer's attention; 0 if the layer has none. */
    int heads(int layer) {
        return model.blocks().get(layer).sublayers().stream()
                .map(Sublayer::part)
                .filter(SelfAttention.class::isInstance)
                .mapToInt(part -> ((SelfAttention) part).heads())
                .findFirst()
                .orElse(0);
    }

    int layers() {
        return model.blocks().size();
    }

    /**
     * Computes steps, and writes the logits that they request. Steps with attention weights are computed separately, which does not change
     * any bit.
     */
    void run(List<Step> steps) {
        together.clear();
        for (int i = 0; i < steps.size(); i++) {
            if (steps.get(i).attention.isEmpty()) {
                together.add(steps.get(i));
            }
        }
        if (!together.isEmpty()) {
            run(together, List.of());
        }
        for (int i = 0; i < steps.size() && together.size() < steps.size(); i++) {
            if (!steps.get(i).attention.isEmpty()) {
                run(List.of(steps.get(i)), steps.get(i).attention);
            }
        }
        together.clear();
    }

    private void run(List<Step> steps, List<@Nullable Tensor> attention) {
        batch.clear();
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            batch.begin(step.sequence.number);
            for (int token = step.from; token < step.from + step.count; token++) {
                batch.add(step.tokens[token]);
            }
        }
        Buffers used = buffers(batch.tokens());
        if (attention.isEmpty()) {
            model.forward(cpu, batch, used);
        } else {
            model.forward(cpu, batch, used, attention);
        }
        computeLogits(steps, used);
    }

    private Buffers buffers(int tokens) {
        Buffers enough = buffers;
        if (enough == null || enough.capacity() < tokens) {
            // a session that only decodes needs few rows
            enough = model.buffers(Math.min(capacity, Math.max(ROWS, 2 * tokens)));
            buffers = enough;
        }
        return enough;
    }

    private void computeLogits(List<Step> steps, Buffers used) {
        int count = 0;
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            int first = batch.start(i + 1) - step.rows;
            for (int row = 0; row < step.rows; row++) {
                owners[count] = step;
                ownerRows[count] = row;
                wanted[count++] = first + row;
                if (count == ROWS) {
                    compute(count, used);
                    count = 0;
                }
            }
        }
        if (count > 0) {
            compute(count, used);
        }
        Arrays.fill(owners, null);
    }

    private void compute(int count, Buffers used) {
        System.arraycopy(wanted, 0, rows[count], 0, count);
        model.logits(cpu, rows[count], outputs[count], used);
        for (int i = 0; i < count; i++) {
            System.arraycopy(logits, i * vocabulary, owners[i].logits(ownerRows[i], rowsOfLogits), 0, vocabulary);
        }
    }
}
