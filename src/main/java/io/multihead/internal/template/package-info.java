/** An interpreter of chat templates, the part of Jinja that they use. */
@NullMarked
package io.multihead.internal.template;

import org.jspecify.annotations.NullMarked;
