package io.multihead.grammar;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * All places at which a machine can be after the same bytes. A place is a state with the states to return to. A configuration keeps its
 * successors and its mask after they were first computed.
 */
final class Configuration {
    /** The states to return to, the innermost first; equal lists may be different objects. */
    record Frame(int state, @Nullable Frame outer, int hash) {
        Frame(int state, @Nullable Frame outer) {
            this(state, outer, 31 * (state + 1) + (outer == null ? 7 : 0x9e3779b1 * outer.hash));
        }

        static boolean same(@Nullable Frame one, @Nullable Frame other) {
            Frame a = one;
            Frame b = other;
            while (a != b) {
                if (a == null || b == null || a.hash != b.hash || a.state != b.state) {
                    return false;
                }
                a = a.outer;
                b = b.outer;
            }
            return true;
        }
    }

    final int[] states;
    final @Nullable Frame[] frames;
    /** Whether the text may end here. */
    final boolean end;
    /** The number of arbitrary plain characters that are accepted. */
    final int plain;

    private final int hash;
    /** Successors by the class of a byte; null if they are not computed yet. */
    @Nullable
    Configuration @Nullable [] next;

    @Nullable
    TokenMask mask;

    Configuration(int[] states, @Nullable Frame[] frames, boolean end, int plain) {
        this.states = states;
        this.frames = frames;
        this.end = end;
        this.plain = plain;
        int sum = Boolean.hashCode(end) + Arrays.hashCode(states);
        for (Frame frame : frames) {
            sum = 31 * sum + (frame == null ? 0 : frame.hash);
        }
        hash = sum;
    }

    /** Returns whether neither a byte nor the end can follow. */
    boolean isDead() {
        return states.length == 0 && !end;
    }

    @Override
    public boolean equals(@Nullable Object object) {
        if (!(object instanceof Configuration other)
                || hash != other.hash
                || end != other.end
                || plain != other.plain) {
            return false;
        }
        if (!Arrays.equals(states, other.states)) {
            return false;
        }
        for (int i = 0; i < frames.length; i++) {
            if (!Frame.same(frames[i], other.frames[i])) {
                return false;
            }
        }
        return true;
    }

    @Override
    public int hashCode() {
        return hash;
    }
}
