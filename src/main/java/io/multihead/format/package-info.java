/** Files of tensors: safetensors, memory-mapped and checked. */
@NullMarked
package io.multihead.format;

import org.jspecify.annotations.NullMarked;
