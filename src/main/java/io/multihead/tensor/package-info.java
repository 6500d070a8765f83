/** Tensors: element types, shapes, strided views over memory segments. */
@NullMarked
package io.multihead.tensor;

import org.jspecify.annotations.NullMarked;
