/**
 * Keys and values: their storage ({@link io.multihead.internal.attention.keyvalue.KeyValueSource}), and blocks of them as operands of
 * forward's matrix multiplications ({@link io.multihead.internal.attention.keyvalue.KeyValueBlock}).
 */
@NullMarked
package io.multihead.internal.attention.keyvalue;

import org.jspecify.annotations.NullMarked;
