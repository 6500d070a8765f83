package io.multihead.grammar;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Bytes of the objects that one of this package retains, as HotSpot lays them out without compact headers, references uncompressed: no fewer than
 * any JVM takes. Vocabularies are not counted, as grammars share them.
 */
final class RetainedBytes {
    private static final int HEADER = 16;
    private static final int REFERENCE = 8;
    /** Of a node of a hash map, or of a list or a map itself. */
    private static final int NODE = 64;

    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Object> waiting = new ArrayDeque<>();
    private long bytes;

    private RetainedBytes() {}

    static long of(Object root) throws IllegalAccessException {
        RetainedBytes retained = new RetainedBytes();
        retained.found(root);
        while (!retained.waiting.isEmpty()) {
            retained.count(retained.waiting.remove());
        }
        return retained.bytes;
    }

    private void found(Object object) {
        boolean isShared = object == null || object instanceof TokenVocabulary || object instanceof Class;
        if (!isShared && seen.add(object)) {
            waiting.add(object);
        }
    }

    private void count(Object object) throws IllegalAccessException {
        Class<?> type = object.getClass();
        if (type.isArray()) {
            int length = Array.getLength(object);
            add((long) length * size(type.getComponentType()));
            for (int i = 0; i < length && !type.getComponentType().isPrimitive(); i++) {
                found(Array.get(object, i));
            }
        } else if (object instanceof Map<?, ?> map) {
            // the table is less than twice as long as there are entries, times the load factor of 3/4
            add(NODE + map.size() * (NODE + 4L * REFERENCE));
            map.forEach((key, value) -> {
                found(key);
                found(value);
            });
        } else if (object instanceof Collection<?> list) {
            add(NODE + 2L * REFERENCE * Math.max(list.size(), 10));
            list.forEach(this::found);
        } else if (object instanceof String text) {
            add(NODE + 2L * text.length());
        } else if (type.getName().startsWith("io.multihead.grammar.")) {
            fields(object, type);
        } else {
            throw new AssertionError("of unknown size: " + type);
        }
    }

    private void fields(Object object, Class<?> type) throws IllegalAccessException {
        long all = 0;
        for (Class<?> at = type; at != Object.class; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    all += size(field.getType());
                    if (!field.getType().isPrimitive()) {
                        field.setAccessible(true);
                        found(field.get(object));
                    }
                }
            }
        }
        add(all);
    }

    /** Adds an object of a number of bytes behind its header. */
    private void add(long contents) {
        bytes += (HEADER + contents + REFERENCE - 1) / REFERENCE * REFERENCE;
    }

    private static int size(Class<?> type) {
        return type == boolean.class || type == byte.class
                ? Byte.BYTES
                : type == int.class || type == float.class ? Integer.BYTES : Long.BYTES;
    }
}
