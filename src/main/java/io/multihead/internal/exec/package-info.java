/**
 * Threads, parallel loops and scratch memory: what a {@code io.multihead.compute.Compute} is inside. No other package starts a
 * thread. Not part of the API.
 */
@NullMarked
package io.multihead.internal.exec;

import org.jspecify.annotations.NullMarked;
