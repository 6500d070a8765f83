/** Threads and scratch memory: the one place where work is divided. */
@NullMarked
package io.multihead.compute;

import org.jspecify.annotations.NullMarked;
