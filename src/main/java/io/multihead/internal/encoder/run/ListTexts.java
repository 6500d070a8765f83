package io.multihead.internal.encoder.run;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.RandomAccess;

/**
 * Iterates over the texts, or token ids, of a list by their index. The object is reused, because a list's own iterator would be a new object
 * for each call.
 */
public final class ListTexts implements Iterator<Object> {
    private List<?> texts = List.of();
    private int next;

    /** Returns the elements of a list: the list itself, unless access by index is slow. */
    Iterator<?> begin(List<?> newTexts) {
        if (!(newTexts instanceof RandomAccess)) {
            return newTexts.iterator();
        }
        texts = newTexts;
        next = 0;
        return this;
    }

    /** Drops the reference to the list. */
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
