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
 * The bytes of all objects that an object of this package retains, as HotSpot lays them out without compact headers and
 * with uncompressed references, which is the largest layout. Vocabularies are not counted, since grammars share them.
 */
final class RetainedBytes {
    private static final int HEADER = 16;
    private static final int REFERENCE = 8;
    /** The bytes of a node of a hash map, of a list without its elements, or of a map without its nodes. */
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
            // 3/4 (the load factor) of the table's length is less than twice the number of entries
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

    /** Adds an object with {@code contents} bytes after its header. */
    private void add(long contents) {
        bytes += (HEADER + contents + REFERENCE - 1) / REFERENCE * REFERENCE;
    }

    private static int size(Class<?> type) {
        return type == boolean.class || type == byte.class
                ? Byte.BYTES
                : type == int.class || type == float.class ? Integer.BYTES : Long.BYTES;
    }
}
