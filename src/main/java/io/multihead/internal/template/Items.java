package io.multihead.internal.template;

import java.util.List;

/** A list, a tuple, or another object with elements. */
final class Items {
    /** The kind of an object. */
    enum Kind {
        LIST,
        TUPLE,
        /** A range, or the keys, values or items of a dictionary, which have a length. */
        VIEW,
        /** The result of a filter such as {@code map}, which is read once, has no length, and is always true. */
        STREAM
    }

    private final List<Object> elements;
    private final Kind kind;
    private boolean isRead;

    private Items(List<Object> elements, Kind kind) {
        this.elements = elements;
        this.kind = kind;
    }

    static Items list(List<Object> elements) {
        return new Items(elements, Kind.LIST);
    }

    static Items tuple(List<Object> elements) {
        return new Items(elements, Kind.TUPLE);
    }

    static Items view(List<Object> elements) {
        return new Items(elements, Kind.VIEW);
    }

    static Items stream(List<Object> elements) {
        return new Items(elements, Kind.STREAM);
    }

    Kind kind() {
        return kind;
    }

    /** Returns whether these items are a list or a tuple. */
    boolean isSequence() {
        return kind == Kind.LIST || kind == Kind.TUPLE;
    }

    /**
     * Returns the elements. The elements of a stream are returned only once: a second read is an error, whereas Python
     * returns no elements.
     */
    List<Object> elements() {
        if (kind == Kind.STREAM && isRead) {
            throw new Fault("the result of a filter is read twice; expected once, or |list");
        }
        isRead = true;
        return elements;
    }

    /** Returns the elements if there is a length. */
    List<Object> sized() {
        if (kind == Kind.STREAM) {
            throw new Fault("the result of a filter has no length and no indices; expected |list");
        }
        return elements;
    }

    boolean isTrue() {
        return kind == Kind.STREAM || !elements.isEmpty();
    }
}
