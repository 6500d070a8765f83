/** An interpreter of chat templates, for the part of Jinja that they use. */
@NullMarked
package io.multihead.internal.template;

import org.jspecify.annotations.NullMarked;
