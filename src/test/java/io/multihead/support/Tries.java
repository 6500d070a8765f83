package io.multihead.support;

import java.lang.reflect.AnnotatedElement;
import java.util.Optional;
import net.jqwik.api.lifecycle.AroundPropertyHook;
import net.jqwik.api.lifecycle.PropagationMode;
import net.jqwik.api.lifecycle.PropertyExecutionResult;
import net.jqwik.api.lifecycle.PropertyExecutor;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

/**
 * Multiplies the tries of every property by the system property {@code multihead.tries}, which is 1 if absent. The tries in the annotations
 * are for continuous integration.
 *
 * <p>jqwik finds this class through {@code META-INF/services}.
 */
public final class Tries implements AroundPropertyHook {
    /** Fewer random calls would miss whole kinds of calls. */
    static final int LEAST = 25;

    /** Instantiated by jqwik alone. */
    public Tries() {}

    @Override
    public PropertyExecutionResult aroundProperty(PropertyLifecycleContext context, PropertyExecutor property) {
        context.attributes().tries().ifPresent(tries -> context.attributes().setTries(scaled(tries, factor())));
        return property.execute();
    }

    /** Returns the factor of this run, for loops that are no properties. */
    public static double factor() {
        return Double.parseDouble(System.getProperty("multihead.tries", "1"));
    }

    /** Returns the tries to run instead of the annotated ones: at least {@link #LEAST}, or all of them if fewer. */
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
