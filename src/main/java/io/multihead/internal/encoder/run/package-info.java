/** Passes over texts: batches of their sequences, and the resulting vectors and scores. */
@NullMarked
package io.multihead.internal.encoder.run;

import org.jspecify.annotations.NullMarked;
