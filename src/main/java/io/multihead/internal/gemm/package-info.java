/**
 * Matrix multiplication in scratch: block sizes, the loop nest over packed operands, and the macro-kernel, which attention also uses.
 * Not part of the API.
 */
@NullMarked
package io.multihead.internal.gemm;

import org.jspecify.annotations.NullMarked;
