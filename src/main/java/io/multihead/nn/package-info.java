/** Layers: multi-head attention as PyTorch's and Keras's layers compute it, the trainable parts around it, and the loss. */
@NullMarked
package io.multihead.nn;

import org.jspecify.annotations.NullMarked;
