/** What heads do and what attention costs: diversity, entropy, accounting of operations and memory. */
@NullMarked
package io.multihead.analysis;

import org.jspecify.annotations.NullMarked;
