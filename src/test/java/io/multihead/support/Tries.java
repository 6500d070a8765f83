package io.multihead.support;

import java.lang.reflect.AnnotatedElement;
import java.util.Optional;
import net.jqwik.api.lifecycle.AroundPropertyHook;
import net.jqwik.api.lifecycle.PropagationMode;
import net.jqwik.api.lifecycle.PropertyExecutionResult;
import net.jqwik.api.lifecycle.PropertyExecutor;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

/**
 * Multiplies the tries of every property by the system property {@code multihead.tries}, with default 1. Continuous
 * integration runs the number of tries in the annotations.
 *
 * <p>jqwik finds this class through {@code META-INF/services}.
 */
public final class Tries implements AroundPropertyHook {
    /** The minimum of tries. Fewer random calls would miss whole kinds of calls. */
    static final int LEAST = 25;

    /** Creates an instance for jqwik, its only caller. */
    public Tries() {}

    @Override
    public PropertyExecutionResult aroundProperty(PropertyLifecycleContext context, PropertyExecutor property) {
        context.attributes().tries().ifPresent(tries -> context.attributes().setTries(scaled(tries, factor())));
        return property.execute();
    }

    /** Returns the factor of this run, for loops that are not properties. */
    public static double factor() {
        return Double.parseDouble(System.getProperty("multihead.tries", "1"));
    }

    /**
     * Returns the tries to run instead of the annotated tries: at least {@link #LEAST}, or the annotated number if it
     * is smaller.
     */
    static int scaled(int tries, double factor) {
        return Math.toIntExact(Math.max(Math.min(tries, LEAST), Math.round(tries * factor)));
    }

    @Override
    public PropagationMode propagateTo() {
        return PropagationMode.ALL_DESCENDANTS;
    }

    @Override
    public boolean appliesTo(Optional<AnnotatedElement> element) {
        return true;
    }
}
