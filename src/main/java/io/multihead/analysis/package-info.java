/** Statistics of heads and the cost of attention: diversity, entropy, accounting of operations and memory. */
@NullMarked
package io.multihead.analysis;

import org.jspecify.annotations.NullMarked;
