/** Loads encoders and their tokenizers from files: folders, ONNX, packed files. */
@NullMarked
package io.multihead.internal.encoder.load;

import org.jspecify.annotations.NullMarked;
