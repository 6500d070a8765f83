package io.multihead.internal.template;

import java.util.HashMap;
import java.util.Map;

/**
 * An object whose attributes a template may set.
 *
 * @param attributes the attributes by name
 */
record Namespace(Map<String, Object> attributes) {
    Namespace() {
        this(new HashMap<>());
    }
}
