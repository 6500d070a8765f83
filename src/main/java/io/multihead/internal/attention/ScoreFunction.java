package io.multihead.internal.attention;

/** Changes single scores before the softmax; called by several threads at once. */
@FunctionalInterface
public interface ScoreFunction {
    /** Returns the score that enters the softmax; minus infinity removes the key. */
    float apply(long batch, long head, long query, long key, float score);
}
