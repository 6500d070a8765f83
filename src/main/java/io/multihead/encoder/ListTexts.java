package io.multihead.encoder;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/** The texts, or token ids, of a list by their index. Reused: a list's own iterator would be a new object for each call. */
final class ListTexts implements Iterator<Object> {
    private List<?> texts = List.of();
    private int next;

    void begin(List<?> newTexts) {
        texts = newTexts;
        next = 0;
    }

    /** Forgets the list. */
    void end() {
        begin(List.of());
    }

    @Override
    public boolean hasNext() {
        return next < texts.size();
    }

    @Override
    public Object next() {
        if (!hasNext()) {
            throw new NoSuchElementException("no text left");
        }
        return texts.get(next++);
    }
}
