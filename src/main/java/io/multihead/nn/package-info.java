/** Layers with parameters: multi-head attention as PyTorch's and Keras's layers compute it. */
@NullMarked
package io.multihead.nn;

import org.jspecify.annotations.NullMarked;
