/** Files of tensors, memory-mapped and checked: safetensors, GGUF, and the weights of ONNX models. */
@NullMarked
package io.multihead.format;

import org.jspecify.annotations.NullMarked;
