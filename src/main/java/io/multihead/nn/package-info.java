/** Layers with gradients: linear, normalizations, activations, dropout, embedding, feed-forward networks, sequences of layers, and the loss. */
@NullMarked
package io.multihead.nn;

import org.jspecify.annotations.NullMarked;
