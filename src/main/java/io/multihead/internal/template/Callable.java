package io.multihead.internal.template;

import java.util.List;
import java.util.Map;

/** A callable of a template: a macro or a global function. */
@FunctionalInterface
interface Callable {
    /** Calls the callable. */
    Object call(List<Object> arguments, Map<String, Object> named);
}
