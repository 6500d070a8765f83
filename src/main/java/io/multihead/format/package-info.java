/** Files of tensors: safetensors, memory-mapped and checked, and the weights of ONNX models. */
@NullMarked
package io.multihead.format;

import org.jspecify.annotations.NullMarked;
