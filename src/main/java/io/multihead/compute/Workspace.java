package io.multihead.compute;

import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Scratch;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Scratch memory of one thread: reused from call to call, so that a warm call allocates nothing. Not thread-safe; a
 * {@link Compute} hands each thread its own.
 *
 * <p>Scratch is named by slot. Code that runs while other code holds a slot must use another one; rooms number their slots
 * from {@link #GEMM}, {@link #ATTENTION} and so on.
 */
public final class Workspace {
    /** First slot of the multiplication. */
    public static final int GEMM = 0;

    /** First slot of attention. */
    public static final int ATTENTION = 8;

    /** First slot of the layers, which call both. */
    public static final int LAYER = 16;

    /** First slot of position embeddings. */
    public static final int POSITION = 28;

    /** First slot of caches. */
    public static final int CACHE = 32;

    private static final int SLOTS = 36;

    private final Scratch memory = new Scratch();
    private final Packer packer = new Packer(memory);
    private final float[][] floats = new float[SLOTS][0];
    private final Object[] jobs = new Object[SLOTS];

    Workspace() {}

    /**
     * The thread's reader and writer of user memory.
     *
     * @return the packer, valid while the workspace is
     */
    public Packer packer() {
        return packer;
    }

    /**
     * A scratch array; its content is whatever was left there.
     *
     * @param slot which one, 0 to 35
     * @param length how many floats are needed
     * @return an array of at least that length, the same one at every call until a longer one is needed
     */
    public float[] floats(int slot, int length) {
        floats[slot] = memory.atLeast(floats[slot], length);
        return floats[slot];
    }

    /**
     * A reusable description of a call, made on first use.
     *
     * @param <T> its type
     * @param slot which one, 0 to 35
     * @param make makes it
     * @return the same object at every call
     */
    @SuppressWarnings("unchecked") // a slot is only ever used with one type
    public <T> T job(int slot, Supplier<T> make) {
        if (jobs[slot] == null) {
            jobs[slot] = make.get();
        }
        return (T) jobs[slot];
    }

    /**
     * Returns a reusable object with scratch arrays of its own, made on first use.
     *
     * @param <T> its type
     * @param slot which one, 0 to 35
     * @param make makes it, given what allocates its arrays
     * @return the same object at every call
     */
    @SuppressWarnings("unchecked") // a slot is only ever used with one type
    public <T> T worker(int slot, Function<Scratch, T> make) {
        if (jobs[slot] == null) {
            jobs[slot] = make.apply(memory);
        }
        return (T) jobs[slot];
    }

    /** Returns the bytes of all scratch arrays of this workspace. */
    long heldBytes() {
        return memory.bytes();
    }
}
