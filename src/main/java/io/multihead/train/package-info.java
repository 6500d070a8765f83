/** Training of layers: optimizers, learning rates and checkpoints. */
@NullMarked
package io.multihead.train;

import org.jspecify.annotations.NullMarked;
