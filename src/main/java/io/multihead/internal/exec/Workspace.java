package io.multihead.internal.exec;

import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Scratch memory of one thread, reused from call to call, so that a warm call allocates nothing. Not thread-safe; an {@link Execution}
 * gives each thread a separate workspace.
 */
public final class Workspace {
    private static final float[] NONE = {};

    private final Scratch memory = new Scratch();
    private final Packer packer = new Packer(memory);
    private float[][] floats = {};
    private @Nullable Object[] objects = {};

    Workspace() {}

    /** Returns the thread's reader and writer of user memory. */
    public Packer packer() {
        return packer;
    }

    /**
     * Returns a scratch array with arbitrary contents: the same array at every call, until a longer one is needed.
     *
     * @param key the name of the array
     * @param length the smallest number of floats
     */
    public float[] floats(FloatsKey key, int length) {
        if (key.index >= floats.length) {
            int old = floats.length;
            floats = Arrays.copyOf(floats, key.index + 8);
            Arrays.fill(floats, old, floats.length, NONE);
        }
        float[] array = memory.atLeast(floats[key.index], length);
        floats[key.index] = array;
        return array;
    }

    /** Returns the key's object, which is made at the first use and is the same at every call. */
    @SuppressWarnings("unchecked") // only the key's own factory writes at its index
    public <T> T get(ScratchKey<T> key) {
        if (key.index >= objects.length) {
            objects = Arrays.copyOf(objects, key.index + 8);
        }
        Object object = objects[key.index];
        if (object == null) {
            object = key.make(memory);
            objects[key.index] = object;
        }
        return (T) object;
    }

    /** Frees native memory; the workspace must not be used afterwards. */
    void close() {
        memory.close();
    }

    /** Returns the bytes of all memory that {@link Scratch} allocated for this workspace. */
    long heldBytes() {
        return memory.bytes();
    }
}
