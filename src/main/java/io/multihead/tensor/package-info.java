/** Tensors: element types, shapes, strided views over memory segments, and views of quantized blocks. */
@NullMarked
package io.multihead.tensor;

import org.jspecify.annotations.NullMarked;
