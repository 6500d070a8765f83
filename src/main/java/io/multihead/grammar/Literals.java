package io.multihead.grammar;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Values that a schema names, written as JSON: white space is allowed where objects and arrays have it. */
final class Literals {
    private final JsonSpace json;

    Literals(JsonSpace json) {
        this.json = json;
    }

    /** Adds values. Those that are one token of JSON share their prefixes. */
    void add(List<@Nullable Object> values, int from, int to) {
        List<byte[]> simple = new ArrayList<>();
        for (Object value : values) {
            if (value instanceof Map || value instanceof List) {
                add(value, from, to);
            } else {
                simple.add(bytes(value));
            }
        }
        simple.sort(Arrays::compareUnsigned);
        byte[] before = new byte[0];
        int[] states = {from};
        for (byte[] bytes : simple) {
            int shared = Arrays.mismatch(before, bytes);
            if (shared < 0) {
                continue;
            }
            states = Arrays.copyOf(states, bytes.length + 1);
            for (int i = shared; i < bytes.length; i++) {
                states[i + 1] = json.machine().state();
                json.machine().read(states[i], bytes[i] & 0xff, bytes[i] & 0xff, states[i + 1]);
            }
            json.machine().skip(states[bytes.length], to);
            before = bytes;
        }
    }

    private static byte[] bytes(@Nullable Object value) {
        return value instanceof String text
                ? JsonStrings.quoted(text)
                : String.valueOf(value).getBytes(StandardCharsets.UTF_8);
    }

    private void add(@Nullable Object value, int from, int to) {
        Machine machine = json.machine();
        boolean object = value instanceof Map;
        List<Object> parts = new ArrayList<>();
        if (value instanceof Map<?, ?> map) {
            parts.addAll(map.entrySet());
        } else if (value instanceof List<?> list) {
            parts.addAll(list);
        } else {
            machine.skip(machine.read(from, bytes(value)), to);
            return;
        }
        int at = space(machine.read(from, new byte[] {(byte) (object ? '{' : '[')}));
        for (int i = 0; i < parts.size(); i++) {
            at = i == 0 ? at : space(machine.read(at, new byte[] {','}));
            Object item = parts.get(i);
            if (object && item instanceof Map.Entry<?, ?> entry) {
                at = machine.read(at, JsonStrings.quoted(String.valueOf(entry.getKey())));
                at = space(machine.read(at, new byte[] {':'}));
                item = entry.getValue();
            }
            int next = machine.state();
            add(item, at, next);
            at = next;
        }
        at = parts.isEmpty() ? at : space(at);
        machine.skip(machine.read(at, new byte[] {(byte) (object ? '}' : ']')}), to);
    }

    private int space(int from) {
        int to = json.machine().state();
        json.machine().call(from, json.space(), to);
        return to;
    }
}
