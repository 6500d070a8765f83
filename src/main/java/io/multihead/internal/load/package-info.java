/** Loads the parts of models from files: weights by name, packed or rounded, in one arena. */
@NullMarked
package io.multihead.internal.load;

import org.jspecify.annotations.NullMarked;
