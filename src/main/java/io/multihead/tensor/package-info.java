/** Tensors: element types, shapes, strided views over memory segments, and views of quantised blocks. */
@NullMarked
package io.multihead.tensor;

import org.jspecify.annotations.NullMarked;
