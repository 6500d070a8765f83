package io.multihead.jmh.rounds;

/**
 * A build of the library: its name in results, and a class path with the benchmarks for this build and their
 * dependencies.
 */
record Build(String name, String classPath) {
    static Build of(String argument) {
        int at = argument.indexOf('=');
        if (at <= 0) {
            throw new IllegalArgumentException("build: " + argument + "; expected NAME=CLASSPATH");
        }
        return new Build(argument.substring(0, at), argument.substring(at + 1));
    }
}
