package io.multihead.internal.base;

import java.util.Set;

/**
 * The check for a missing or wrong flag of the JVM, before a class that needs the Vector API fails to link or to
 * initialize.
 *
 * <p>This class touches no vector type, so it loads on every JVM.
 */
public final class VectorApiCheck {
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    /**
     * The property that overrides the preferred vector width, in bits, so that tests cover machines other than the one
     * that runs them.
     */
    public static final String LANES = "io.multihead.lanes";

    private static final Set<String> WIDTHS = Set.of("128", "256", "512");

    private VectorApiCheck() {}

    /**
     * Fails with one clear sentence if the JVM was started without the Vector API, or with a vector width that it lacks.
     *
     * @throws IllegalStateException if the module is absent, or the property {@link #LANES} is not one of 128, 256 and 512
     */
    public static void requireVectorModule() {
        if (ModuleLayer.boot().findModule(VECTOR_MODULE).isEmpty()) {
            throw new IllegalStateException("Multihead needs the Vector API: start the JVM with --add-modules "
                    + VECTOR_MODULE + " (class path), or require the module io.multihead (module path)");
        }
        String bits = System.getProperty(LANES);
        if (bits != null && !WIDTHS.contains(bits)) {
            throw new IllegalStateException(LANES + ": " + bits + "; expected 128, 256 or 512");
        }
    }
}
