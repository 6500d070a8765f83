/**
 * Multi-head attention as a layer, with every option of PyTorch's and Keras's layers, and blocks with this layer: a transformer block, and
 * gated cross-attention.
 */
@NullMarked
package io.multihead.nn.attention;

import org.jspecify.annotations.NullMarked;
