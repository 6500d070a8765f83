/**
 * Threads, parallel loops and scratch memory: the implementation of a {@code io.multihead.compute.Compute}. No other package starts a
 * thread. Not part of the API.
 */
@NullMarked
package io.multihead.internal.exec;

import org.jspecify.annotations.NullMarked;
