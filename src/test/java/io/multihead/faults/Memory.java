package io.multihead.faults;

import io.multihead.attention.KeyValueView;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The memory of the arguments of a call, and a check that a rejected call has not changed it. */
final class Memory {
    private static final int FLOATS = 256;
    private static final MemorySegment CONFINED = confinedElsewhere();

    /** Kinds of memory segments. */
    enum Kind {
        HEAP,
        NATIVE,
        READ_ONLY,
        CLOSED,
        CONFINED_HERE,
        CONFINED_ELSEWHERE,
        SHARED_WITH_OTHERS
    }

    private final List<MemorySegment> segments = new ArrayList<>();
    private final List<byte[]> contents = new ArrayList<>();
    private final MemorySegment shared = filled(MemorySegment.ofArray(new float[FLOATS]));

    /** Returns 1 KiB of memory of the given kind. */
    MemorySegment of(Kind kind, RandomGenerator random) {
        MemorySegment segment =
                switch (kind) {
                    case HEAP -> filled(MemorySegment.ofArray(new float[FLOATS]));
                    case NATIVE -> filled(Arena.ofAuto().allocate(FLOATS * 4L, 64));
                    case READ_ONLY ->
                        filled(MemorySegment.ofArray(new float[FLOATS])).asReadOnly();
                    case CLOSED -> closed();
                    case CONFINED_HERE -> filled(Arena.ofConfined().allocate(FLOATS * 4L, 64));
                    case CONFINED_ELSEWHERE -> CONFINED;
                    case SHARED_WITH_OTHERS -> shared.asSlice(random.nextInt(8) * 4L);
                };
        segments.add(segment);
        return segment;
    }

    /** Copies the current contents of the segments. */
    void snapshot() {
        contents.clear();
        for (MemorySegment segment : segments) {
            contents.add(isReadable(segment) ? segment.toArray(ValueLayout.JAVA_BYTE) : new byte[0]);
        }
    }

    /** Returns whether the contents of every segment are unchanged. */
    boolean isUntouched() {
        for (int i = 0; i < contents.size(); i++) {
            MemorySegment segment = segments.get(i);
            if (isReadable(segment) && !Arrays.equals(contents.get(i), segment.toArray(ValueLayout.JAVA_BYTE))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isReadable(MemorySegment segment) {
        return segment.scope().isAlive() && segment.isAccessibleBy(Thread.currentThread());
    }

    private static MemorySegment filled(MemorySegment segment) {
        for (long at = 0; at < segment.byteSize(); at += Float.BYTES) {
            segment.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, 0.25f + at % 7);
        }
        return segment;
    }

    /** Returns a view of an empty sequence and a sequence of 3 tokens in a cache whose arena is unusable. */
    KeyValueView cache(Kind kind) {
        if (kind == Kind.CONFINED_ELSEWHERE) {
            Owner owner = new Owner();
            owner.runToTheEnd();
            return owner.cached;
        }
        try (Arena arena = Arena.ofShared()) {
            return Owner.cache(arena);
        }
    }

    private static MemorySegment closed() {
        try (Arena arena = Arena.ofShared()) {
            return arena.allocate(FLOATS * 4L, 64);
        }
    }

    private static MemorySegment confinedElsewhere() {
        Owner owner = new Owner();
        owner.runToTheEnd();
        return owner.made;
    }

    /** A separate thread class. A lambda or method of Memory would wait for the initializer of Memory, which waits for the thread. */
    private static final class Owner extends Thread {
        private MemorySegment made = MemorySegment.NULL;
        private @Nullable KeyValueView cached;

        @Override
        public void run() {
            made = Arena.ofConfined().allocate(FLOATS * 4L, 64);
            cached = cache(Arena.ofConfined());
        }

        static KeyValueView cache(Arena arena) {
            KeyValueCache cache = KeyValueCache.paged(arena, KeyValueCache.Config.of(2, 2, 4), 1L << 16);
            int empty = cache.open();
            int filled = cache.open();
            Tensor tokens = Tensor.of(new float[24], 1, 2, 3, 4);
            cache.append(Compute.serial(), 0, filled, tokens, tokens);
            return cache.view(0, empty, filled);
        }

        private void runToTheEnd() {
            start();
            try {
                join();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }
    }
}
