/** Threads and scratch memory of calls: their number, their owner and their lifetime. */
@NullMarked
package io.multihead.compute;

import org.jspecify.annotations.NullMarked;
