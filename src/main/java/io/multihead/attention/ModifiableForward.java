package io.multihead.attention;

import io.multihead.internal.attention.ScoreFunction;
import io.multihead.internal.attention.forward.ForwardCall;
import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.Scratch;
import org.jspecify.annotations.Nullable;

/** A call of forward that is also the engine's wrapper of the caller's modifier, so that a call allocates no separate wrapper. */
final class ModifiableForward extends ForwardCall implements ScoreFunction {
    private @Nullable ScoreModifier modifier;

    ModifiableForward(Scratch memory) {
        super(memory);
    }

    /** Sets the modifier, and returns the engine's wrapper of it. */
    @Nullable
    ScoreFunction adapt(@Nullable ScoreModifier newModifier) {
        modifier = newModifier;
        return newModifier == null ? null : this;
    }

    @Override
    public float apply(long batch, long head, long query, long key, float score) {
        return Checks.notNull(modifier, "modifier").apply(batch, head, query, key, score);
    }

    @Override
    protected void clear() {
        super.clear();
        modifier = null;
    }
}
