package io.multihead.internal.exec;

import io.multihead.internal.layout.Scratch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Names an object of which every {@link Workspace} has one: a call's description, or a worker with its own arrays. It is a static constant
 * of the class that uses it.
 *
 * @param <T> the object's type
 */
public final class ScratchKey<T> {
    private static final AtomicInteger COUNT = new AtomicInteger();

    final int index = COUNT.getAndIncrement();
    private final Function<Scratch, T> make;

    private ScratchKey(Function<Scratch, T> make) {
        this.make = make;
    }

    /** Returns a new key for objects that allocate their arrays from the workspace's {@link Scratch}. */
    public static <T> ScratchKey<T> ofWorker(Function<Scratch, T> make) {
        return new ScratchKey<>(make);
    }

    /** Returns a new key for objects whose arrays, if they have any, are small: {@link Workspace#heldBytes} does not count them. */
    public static <T> ScratchKey<T> of(Supplier<T> make) {
        return new ScratchKey<>(scratch -> make.get());
    }

    T make(Scratch scratch) {
        return make.apply(scratch);
    }
}
