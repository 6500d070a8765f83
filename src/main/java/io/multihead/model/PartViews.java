package io.multihead.model;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The tensors of all layouts over one buffer, created once for each number of tokens. */
final class PartViews {
    private final float[] buffer;
    private final int capacity;
    private final Map<PartLayout<?>, @Nullable Object[]> views = new HashMap<>();

    PartViews(float[] buffer, int capacity) {
        this.buffer = buffer;
        this.capacity = capacity;
    }

    @SuppressWarnings("unchecked") // only this layout writes to its array
    <V> V get(PartLayout<V> layout, int tokens) {
        @Nullable Object[] all = views.get(layout);
        if (all == null) {
            all = new Object[capacity + 1];
            views.put(layout, all);
        }
        Object found = all[tokens];
        if (found == null) {
            found = layout.views(buffer, tokens);
            all[tokens] = found;
        }
        return (V) found;
    }
}
