/**
 * Building blocks of layers: tensors as rows, temporary tensors, element-wise passes, normalization and the loss. The package does
 * not depend on layers. Not part of the API.
 */
@NullMarked
package io.multihead.internal.nn;

import org.jspecify.annotations.NullMarked;
