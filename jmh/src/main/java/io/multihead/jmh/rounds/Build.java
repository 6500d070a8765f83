package io.multihead.jmh.rounds;

/** A build of the library, by the name in results, with the benchmarks compiled for it and all they need on the class path. */
record Build(String name, String classPath) {
    static Build of(String argument) {
        int at = argument.indexOf('=');
        if (at <= 0) {
            throw new IllegalArgumentException("build: " + argument + "; expected NAME=CLASSPATH");
        }
        return new Build(argument.substring(0, at), argument.substring(at + 1));
    }
}
