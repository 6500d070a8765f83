/** Passes over texts: batches of their sequences, and the vectors and scores of them. */
@NullMarked
package io.multihead.internal.encoder.run;

import org.jspecify.annotations.NullMarked;
