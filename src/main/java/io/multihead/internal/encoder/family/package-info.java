/** Families of encoders: configurations, names of weights, and the parts that they build. */
@NullMarked
package io.multihead.internal.encoder.family;

import org.jspecify.annotations.NullMarked;
