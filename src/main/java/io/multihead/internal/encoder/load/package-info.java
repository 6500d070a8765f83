/** From the files of encoders to models and their tokenizers: folders, ONNX, packed files. */
@NullMarked
package io.multihead.internal.encoder.load;

import org.jspecify.annotations.NullMarked;
