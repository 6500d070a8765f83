package io.multihead.encoder;

import io.multihead.internal.encoder.run.Vectors;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.NoSuchElementException;

/** The embeddings of a run's texts, computed one batch ahead of their use. Not thread-safe. */
final class EmbeddingIterator implements Iterator<TextEmbedding> {
    private final EmbeddingRun run;
    private final Deque<TextEmbedding> ready = new ArrayDeque<>();
    /** True while a batch is computed: the tokens of its texts are lost if the computation fails. */
    private boolean broken;

    private long number;

    EmbeddingIterator(EmbeddingRun run) {
        this.run = run;
    }

    @Override
    public boolean hasNext() {
        boolean more = true;
        while (more && ready.isEmpty()) {
            if (broken) {
                throw new IllegalStateException("embeddings: ended by an error; expected a new iterator");
            }
            broken = true;
            more = run.step((vector, tokens, ignored) -> ready.add(new TextEmbedding(vector, tokens, ignored)));
            broken = false;
        }
        return !ready.isEmpty();
    }

    @Override
    public TextEmbedding next() {
        if (!hasNext()) {
            throw new NoSuchElementException("no text left");
        }
        TextEmbedding next = ready.remove();
        Vectors.requireFinite(next.vector(), "text", number++);
        return next;
    }
}
