package io.multihead.faults;

import io.multihead.attention.KeyValueView;
import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Bad values that replace a valid argument. */
final class BadValues {
    /** A value and whether every call must refuse it. */
    record Candidate(String what, @Nullable Object value, boolean refused) {}

    private final Memory memory;
    /** The tensors of the call, which another argument must not overlap. */
    private final List<Tensor> others;

    private final List<Candidate> found = new ArrayList<>();
    /** Exceptions of record constructors, which refuse a component before the call. */
    private final List<Throwable> early = new ArrayList<>();

    BadValues(Memory memory, List<Tensor> others) {
        this.memory = memory;
        this.others = others;
    }

    List<Throwable> early() {
        return early;
    }

    /** Returns candidates for one argument. If {@code nullable}, the argument may be null. */
    List<Candidate> of(Class<?> type, @Nullable Object valid, boolean nullable) {
        if (!type.isPrimitive()) {
            add("null", null, !nullable);
        }
        switch (valid) {
            case null -> {}
            case Tensor tensor -> tensors(tensor);
            case Integer ignored -> addAll(-1, Integer.MIN_VALUE, Integer.MAX_VALUE, 0, 7);
            case Long ignored -> addAll(-1L, Long.MIN_VALUE, Long.MAX_VALUE, 0L, 1L << 40);
            case Double ignored -> addAll(Double.NaN, Double.POSITIVE_INFINITY, 1e39, -1.0, 0.0);
            case Float ignored -> addAll(Float.NaN, Float.NEGATIVE_INFINITY, -1f);
            case Compute ignored -> add("closed", closed(), false);
            case List<?> list -> lists(list);
            case KeyValueView ignored -> caches();
            default -> {
                if (type.isArray()) {
                    arrays(valid);
                } else if (type.isRecord()) {
                    records(type, valid);
                }
            }
        }
        return found;
    }

    private void add(String what, @Nullable Object value, boolean refused) {
        found.add(new Candidate(what, value, refused));
    }

    private void addAll(Object... values) {
        for (Object value : values) {
            add(value.toString(), value, false);
        }
    }

    /** Adds caches with unusable memory. One of two sequences is empty, so that a call can write output without reading the cache. */
    private void caches() {
        add("cache in a closed arena", memory.cache(Memory.Kind.CLOSED), true);
        add("cache of another thread", memory.cache(Memory.Kind.CONFINED_ELSEWHERE), true);
    }

    private static Compute closed() {
        Compute cpu = Compute.serial();
        cpu.close();
        return cpu;
    }

    private void tensors(Tensor valid) {
        SplittableRandom random = new SplittableRandom(1);
        long[] dims = valid.shape().toArray();
        for (Memory.Kind kind : Memory.Kind.values()) {
            boolean unusable = kind == Memory.Kind.CLOSED || kind == Memory.Kind.CONFINED_ELSEWHERE;
            Tensor other = Tensor.view(memory.of(kind, random), valid.dtype(), valid.shape());
            add(kind.toString(), other, unusable);
        }
        for (DType dtype : DType.values()) {
            add(dtype.toString(), fresh(dtype, dims), false);
        }
        for (int axis = 0; axis < dims.length; axis++) {
            for (long size : new long[] {0, dims[axis] + 1}) {
                long[] changed = dims.clone();
                changed[axis] = size;
                add("shape " + Arrays.toString(changed), fresh(valid.dtype(), changed), false);
            }
            if (dims[axis] > 0) {
                long[] wide = dims.clone();
                wide[axis] += (1L << 32); // the size is unchanged when it is cast to an int
                if (axis > 0) { // calls may loop over the first axis
                    add("wide axis " + axis, valid.slice(axis, 0, 1).broadcast(wide), false);
                }
                add("repeated axis " + axis, valid.slice(axis, 0, 1).broadcast(dims), false);
            }
        }
        add("more axes", fresh(valid.dtype(), Arrays.copyOf(new long[] {1, 1, 1, 1, 1, 1}, dims.length + 1)), false);
        add("fewer axes", fresh(valid.dtype(), Arrays.copyOf(dims, Math.max(0, dims.length - 1))), false);
        for (Tensor other : others) {
            if (other != valid) {
                add("the memory of " + other, Tensor.view(other.memory(), valid.dtype(), valid.shape()), false);
            }
        }
    }

    private Tensor fresh(DType dtype, long... dims) {
        return Tensor.view(memory.of(Memory.Kind.HEAP, new SplittableRandom(1)), dtype, Shape.of(dims));
    }

    private void lists(List<?> valid) {
        add("empty list", List.of(), false);
        add("null element", Arrays.asList(new Object[Math.max(1, valid.size())]), true);
        List<Object> longer = new ArrayList<>(valid);
        longer.addAll(valid);
        add("twice as long", Collections.unmodifiableList(longer), false);
    }

    private void arrays(Object valid) {
        Class<?> element = valid.getClass().getComponentType();
        int length = Array.getLength(valid);
        add("empty", Array.newInstance(element, 0), false);
        Object longer = Array.newInstance(element, length + 1);
        System.arraycopy(valid, 0, longer, 0, length);
        add("longer", longer, false);
        List<Object> spoilers = element == int.class
                ? List.of(-1, Integer.MAX_VALUE)
                : element == long.class
                        ? List.of(-1L, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 32)
                        : element == float.class
                                ? List.of(Float.NaN, Float.POSITIVE_INFINITY)
                                : element == double.class ? List.of(Double.NaN) : List.of();
        for (int i = 0; i < length; i++) {
            for (Object spoiler : spoilers) {
                Object changed = Array.newInstance(element, length);
                System.arraycopy(valid, 0, changed, 0, length);
                Array.set(changed, i, spoiler);
                add("element " + i + " " + spoiler, changed, false);
            }
        }
        if (!element.isPrimitive() && length > 0) {
            add("null element", Array.newInstance(element, length), true);
        }
    }

    /** Replaces one component after the other by bad values. Constructors may refuse them. */
    private void records(Class<?> type, Object valid) {
        RecordComponent[] components = type.getRecordComponents();
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(
                    Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
            Object[] parts = new Object[components.length];
            for (int i = 0; i < parts.length; i++) {
                parts[i] = components[i].getAccessor().invoke(valid);
            }
            for (int i = 0; i < parts.length; i++) {
                boolean nullable = components[i].getAnnotatedType().isAnnotationPresent(Nullable.class);
                BadValues inner = new BadValues(memory, others);
                for (Candidate candidate : inner.of(components[i].getType(), parts[i], nullable)) {
                    Object[] changed = parts.clone();
                    changed[i] = candidate.value;
                    rebuild(constructor, changed, components[i].getName() + " " + candidate.what, candidate.refused);
                }
                early.addAll(inner.early);
            }
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(type.toString(), impossible);
        }
    }

    private void rebuild(Constructor<?> constructor, Object[] parts, String what, boolean refused)
            throws ReflectiveOperationException {
        try {
            add(what, constructor.newInstance(parts), refused);
        } catch (InvocationTargetException thrown) {
            early.add(thrown.getCause());
        }
    }
}
