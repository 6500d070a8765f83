/** Threads and scratch memory of calls: how many, whose, and for how long. */
@NullMarked
package io.multihead.compute;

import org.jspecify.annotations.NullMarked;
