/** Parts of trained models for inference: packed, without gradients and without garbage. Encoders and decoders consist of these parts. */
@NullMarked
package io.multihead.model;

import org.jspecify.annotations.NullMarked;
