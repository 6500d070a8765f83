/** Merging of pairs of tokens (BPE). Not part of the API. */
@NullMarked
package io.multihead.internal.text.pairs;

import org.jspecify.annotations.NullMarked;
