/**
 * The arrangement of numbers in scratch and caches, and their conversion from user memory: rows of f32, panels of several formats, and the
 * allocator of both. Not part of the API.
 */
@NullMarked
package io.multihead.internal.layout;

import org.jspecify.annotations.NullMarked;
