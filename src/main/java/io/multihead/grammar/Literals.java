package io.multihead.grammar;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Adds values that a schema names. Objects and arrays have the usual white space. */
final class Literals {
    private final Notation notation;
    private final Machine machine;
    private final String path;

    /** Creates the literals of a schema, whose path occurs in errors. */
    Literals(Notation notation, String path) {
        this.notation = notation;
        this.machine = notation.machine;
        this.path = path;
    }

    /** Adds values. Strings share states of equal prefixes. Words and numbers share such states, too. */
    void add(List<@Nullable Object> values, int from, int to) {
        List<byte[]> strings = new ArrayList<>();
        List<byte[]> words = new ArrayList<>();
        for (Object value : values) {
            if (value instanceof Map || value instanceof List) {
                add(value, from, to);
            } else if (value instanceof String text) {
                strings.add(notation.characters(path, text));
            } else {
                words.addAll(words(value));
            }
        }
        sharing(words, from, to);
        if (!strings.isEmpty()) {
            int end = machine.state();
            sharing(strings, notation.begin(from), end);
            notation.end(end, to);
        }
    }

    private void sharing(List<byte[]> texts, int from, int to) {
        texts.sort(Arrays::compareUnsigned);
        byte[] before = new byte[0];
        int[] states = {from};
        boolean first = true;
        for (byte[] bytes : texts) {
            int shared = first ? 0 : Arrays.mismatch(before, bytes);
            if (shared < 0) {
                continue;
            }
            states = Arrays.copyOf(states, bytes.length + 1);
            for (int i = shared; i < bytes.length; i++) {
                states[i + 1] = machine.state();
                machine.read(states[i], bytes[i] & 0xff, bytes[i] & 0xff, states[i + 1]);
            }
            machine.skip(states[bytes.length], to);
            before = bytes;
            first = false;
        }
    }

    private List<byte[]> words(@Nullable Object value) {
        List<String> words = value == null ? notation.nulls() : List.of(String.valueOf(value));
        return words.stream()
                .map(word -> word.getBytes(StandardCharsets.US_ASCII))
                .toList();
    }

    private void add(Object value, int from, int to) {
        List<String> names = new ArrayList<>();
        List<@Nullable Object> items = new ArrayList<>();
        if (value instanceof Map<?, ?> map) {
            Set<String> all = new LinkedHashSet<>();
            map.keySet().forEach(name -> all.add(String.valueOf(name)));
            names.addAll(notation.ordered(all));
            names.forEach(name -> items.add(map.get(name)));
        } else {
            items.addAll((List<?>) value);
        }
        boolean object = value instanceof Map;
        int at = space(read(from, object ? "{" : "["));
        for (int i = 0; i < items.size(); i++) {
            at = i == 0 ? at : space(read(at, ","));
            at = object ? space(read(notation.name(path, at, names.get(i)), ":")) : at;
            int next = machine.state();
            List<@Nullable Object> item = new ArrayList<>();
            item.add(items.get(i));
            add(item, at, next);
            at = next;
        }
        at = items.isEmpty() ? at : space(at);
        machine.skip(read(at, object ? "}" : "]"), to);
    }

    private int read(int from, String characters) {
        return machine.read(from, characters.getBytes(StandardCharsets.US_ASCII));
    }

    private int space(int from) {
        int to = machine.state();
        machine.call(from, notation.space, to);
        return to;
    }
}
