package io.multihead.internal.template;

import java.util.List;
import java.util.Map;

/** What a template may call: a macro or a global function. */
@FunctionalInterface
interface Callable {
    /** Calls it. */
    Object call(List<Object> arguments, Map<String, Object> named);
}
