/** Layers and heads of encoders after the transformer: pooling, dense layers, the classification of sequences. */
@NullMarked
package io.multihead.internal.encoder.layer;

import org.jspecify.annotations.NullMarked;
