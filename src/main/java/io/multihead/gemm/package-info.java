/** Matrix multiplication, cache-blocked and packed, and weights packed once for many multiplications. */
@NullMarked
package io.multihead.gemm;

import org.jspecify.annotations.NullMarked;
