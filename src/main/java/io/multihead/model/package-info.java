/** Parts of trained models for inference: packed, without gradients and without garbage. Encoders and decoders consist of
 * them. */
@NullMarked
package io.multihead.model;

import org.jspecify.annotations.NullMarked;
