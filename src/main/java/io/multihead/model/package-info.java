/** Parts of trained models for inference: packed, without gradients, without garbage; encoders and decoders are made of them. */
@NullMarked
package io.multihead.model;

import org.jspecify.annotations.NullMarked;
