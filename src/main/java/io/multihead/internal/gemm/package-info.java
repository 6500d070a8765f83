/**
 * Matrix multiplication in scratch: block sizes, the loop nest over packed operands, and the macro-kernel that attention uses too.
 * Not part of the API.
 */
@NullMarked
package io.multihead.internal.gemm;

import org.jspecify.annotations.NullMarked;
