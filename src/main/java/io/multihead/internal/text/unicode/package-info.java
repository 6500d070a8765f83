/** Code points: classes, normalized forms, grapheme clusters, UTF-8. Not part of the API. */
@NullMarked
package io.multihead.internal.text.unicode;

import org.jspecify.annotations.NullMarked;
