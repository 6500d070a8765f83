package io.multihead.jmh.rounds;

/**
 * A build of the library, with the benchmarks compiled for it.
 *
 * @param name what results call it
 * @param classPath where both are, and all they need
 */
record Build(String name, String classPath) {
    /** Reads {@code name=classPath}. */
    static Build of(String argument) {
        int at = argument.indexOf('=');
        if (at <= 0) {
            throw new IllegalArgumentException("build: " + argument + "; expected NAME=CLASSPATH");
        }
        return new Build(argument.substring(0, at), argument.substring(at + 1));
    }
}
