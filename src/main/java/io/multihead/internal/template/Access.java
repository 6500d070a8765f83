package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Attributes, elements and slices of values. */
final class Access {
    /** Methods of Python's dictionaries, which hide keys with these names from {@code value.name}. */
    private static final Set<String> OF_DICTS = Set.of(
            "clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values");

    private static final long LONGEST_STEP = 1L << 32;

    private final Budget budget;

    Access(Budget budget) {
        this.budget = budget;
    }

    /** Returns {@code value.name}. */
    static Object attribute(Object value, String name) {
        if (value instanceof Dict && OF_DICTS.contains(name)) {
            throw new Fault("method " + name + " of a mapping without a call; expected [\"" + name + "\"] for a key");
        }
        return switch (value) {
            case Dict dict -> member(dict, name);
            case Namespace namespace -> {
                Object found = namespace.attributes().get(name);
                yield found == null ? new Undefined("attribute " + name + " of a namespace") : found;
            }
            case Undefined undefined -> throw undefined.fault();
            default -> new Undefined("attribute " + name + " of " + Values.type(value));
        };
    }

    private static Object member(Dict dict, String name) {
        Object found = dict.find(name);
        return found == null ? new Undefined("member " + name + " of a mapping") : found;
    }

    /** Returns {@code value[index]}. */
    Object item(Object value, Object index) {
        if (value instanceof Undefined undefined) {
            throw undefined.fault();
        }
        if (index instanceof PromptText name) {
            return value instanceof Dict dict ? member(dict, name.toString()) : attribute(value, name.toString());
        }
        if (index instanceof Undefined undefined && !(value instanceof Dict)) {
            throw undefined.fault();
        }
        boolean indexed = value instanceof PromptText || value instanceof Items;
        if (!indexed || !(index instanceof Long || index instanceof Boolean)) {
            return new Undefined("element " + Values.text(index, budget) + " of " + Values.type(value));
        }
        List<Object> elements = sized(value);
        long at = Values.whole(index);
        at += at < 0 ? elements.size() : 0;
        return at < 0 || at >= elements.size()
                ? new Undefined("element " + Values.whole(index) + " of " + elements.size())
                : elements.get((int) at);
    }

    /** Returns {@code value[from:to:step]}. */
    Object slice(Object value, Object from, Object to, Object step) {
        if (value instanceof Undefined undefined) {
            throw undefined.fault();
        }
        if (!(value instanceof PromptText) && !(value instanceof Items)) {
            throw new Fault("a slice of " + Values.type(value) + "; expected a list or a string");
        }
        List<Object> elements = sized(value);
        int size = elements.size();
        long stride = Methods.isGiven(step) ? Math.clamp(Methods.whole(step), -LONGEST_STEP, LONGEST_STEP) : 1;
        if (stride == 0) {
            throw new Fault("a slice with step 0");
        }
        long first = bound(from, stride > 0 ? 0 : size - 1, size, stride);
        long end = bound(to, stride > 0 ? size : -1, size, stride);
        List<Object> part = new ArrayList<>();
        for (long i = first; stride > 0 ? i < end : i > end; i += stride) {
            part.add(elements.get((int) i));
        }
        budget.take(part.size());
        if (value instanceof PromptText) {
            return Texts.join(part, PromptText.template(""), budget);
        }
        return ((Items) value).kind() == Items.Kind.TUPLE ? Items.tuple(part) : Items.list(part);
    }

    private List<Object> sized(Object value) {
        if (value instanceof PromptText text) {
            budget.take(text.length());
            return Values.characters(text);
        }
        return ((Items) value).sized();
    }

    private static long bound(Object given, long otherwise, int size, long stride) {
        if (!Methods.isGiven(given)) {
            return otherwise;
        }
        long index = Methods.whole(given);
        index += index < 0 ? size : 0;
        return stride > 0 ? Math.clamp(index, 0, size) : Math.clamp(index, -1, size - 1);
    }
}
