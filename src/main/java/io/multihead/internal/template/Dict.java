package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A dictionary with texts as keys, in the order in which they were put. Keys carry the writer of each character, and are equal if their
 * characters are.
 */
final class Dict {
    /** A key and its value. */
    record Entry(PromptText key, Object value) {}

    private final Map<String, Entry> entries = new LinkedHashMap<>();

    /** Puts a value; dictionaries never change for templates. */
    void put(PromptText key, Object value) {
        Entry old = entries.get(key.toString());
        entries.put(key.toString(), new Entry(old == null ? key : old.key(), value));
    }

    @Nullable
    Object find(String key) {
        Entry entry = entries.get(key);
        return entry == null ? null : entry.value();
    }

    boolean has(String key) {
        return entries.containsKey(key);
    }

    int size() {
        return entries.size();
    }

    Collection<Entry> entries() {
        return entries.values();
    }

    List<Object> keys() {
        List<Object> keys = new ArrayList<>(size());
        entries().forEach(entry -> keys.add(entry.key()));
        return keys;
    }

    List<Object> values() {
        List<Object> values = new ArrayList<>(size());
        entries().forEach(entry -> values.add(entry.value()));
        return values;
    }

    /** Returns pairs of keys and values. */
    List<Object> items() {
        List<Object> items = new ArrayList<>(size());
        entries().forEach(entry -> items.add(Items.tuple(List.of(entry.key(), entry.value()))));
        return items;
    }
}
