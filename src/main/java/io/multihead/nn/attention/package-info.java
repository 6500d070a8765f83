/**
 * Multi-head attention as a layer, with every option of PyTorch's and Keras's, and the blocks that are made of it: a transformer
 * block, and gated cross-attention.
 */
@NullMarked
package io.multihead.nn.attention;

import org.jspecify.annotations.NullMarked;
