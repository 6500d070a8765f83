package io.multihead.it.spark;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;

/**
 * Checks the Java version of this JVM before a class of the library is loaded. Java 17 and 21 would refuse such a class
 * with {@code UnsupportedClassVersionError}. This project's classes are compiled for Java 17, so that an executor can
 * run this check.
 */
final class ExecutorJava {
    private static final int OLDEST = 25;

    private ExecutorJava() {}

    static void require() {
        require(Runtime.version().feature());
    }

    static void require(int feature) {
        if (feature < OLDEST) {
            throw new IllegalStateException("Java: " + feature + " in " + System.getProperty("java.home") + " on "
                    + host() + "; expected at least " + OLDEST
                    + ": set spark.executorEnv.JAVA_HOME (YARN, standalone) or the image's JDK (Kubernetes)");
        }
    }

    /** Returns the error for a model that this executor cannot load, with the reason. */
    static IllegalArgumentException notLoaded(String argument, Path model, Exception reason) {
        return new IllegalArgumentException(
                argument + ": " + model + " on " + host()
                        + " cannot be loaded; expected the model at the same path on each executor: " + reason,
                reason);
    }

    static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (IOException e) {
            return "an unknown host";
        }
    }
}
