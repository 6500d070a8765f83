/** From files to the parts of models: weights by name, packed or rounded, in one arena. */
@NullMarked
package io.multihead.internal.load;

import org.jspecify.annotations.NullMarked;
