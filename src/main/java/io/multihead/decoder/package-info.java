/** Language models that generate text, with the weights of trained decoders. */
@NullMarked
package io.multihead.decoder;

import org.jspecify.annotations.NullMarked;
