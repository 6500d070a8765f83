package io.multihead.model;

import io.multihead.gemm.Activation;

/**
 * The function of a gate and the layer that it multiplies: {@code f(gate) up}, or, with limits, {@link FeedForward#clamped}.
 *
 * @param function f
 * @param slope factor of the gate in its sigmoid; 0 without limits
 * @param limit the largest gate, and the largest magnitude of up
 */
record Gate(Activation function, float slope, float limit) {
    static Gate of(Activation function) {
        return new Gate(function, 0, 0);
    }

    boolean isClamped() {
        return slope != 0;
    }
}
