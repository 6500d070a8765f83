package io.multihead.internal;

/**
 * Says which flag is missing before a class that needs the Vector API fails to link.
 *
 * <p>This class touches no vector type, so it loads on every JVM.
 */
public final class Gate {
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    private Gate() {}

    /**
     * Fails with one clear sentence when the JVM was started without the Vector API.
     *
     * @throws IllegalStateException if the module is absent
     */
    public static void requireVectorModule() {
        if (ModuleLayer.boot().findModule(VECTOR_MODULE).isEmpty()) {
            throw new IllegalStateException("Multihead needs the Vector API: start the JVM with --add-modules "
                    + VECTOR_MODULE + " (class path), or require the module io.multihead (module path)");
        }
    }
}
