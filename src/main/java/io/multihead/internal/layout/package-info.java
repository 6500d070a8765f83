/**
 * How numbers are arranged in scratch and caches, and how they get there from user memory: rows of f32, panels of several
 * formats, and the allocator of both. Not part of the API.
 */
@NullMarked
package io.multihead.internal.layout;

import org.jspecify.annotations.NullMarked;
