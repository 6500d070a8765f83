package io.multihead.nn;

/**
 * Which optional parameters and keys there are.
 *
 * @param bias whether the four projections add biases
 * @param keyValueBias whether a learned key and value follow the projected ones; no mask hides them
 * @param zeroKey whether a key and value of zeros come last; no mask hides them
 */
public record LayerExtras(boolean bias, boolean keyValueBias, boolean zeroKey) {}
