package io.multihead.internal.attention;

/** Changes single scores before the softmax; several threads may call it at the same time. */
@FunctionalInterface
public interface ScoreFunction {
    /** Returns the score that enters the softmax; minus infinity removes the key. */
    float apply(long batch, long head, long query, long key, float score);
}
