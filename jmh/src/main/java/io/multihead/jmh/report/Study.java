package io.multihead.jmh.report;

/** The measurements of a kind of processor: its name, what the machine says of itself, and the results. */
record Study(String name, String processor, Results results) {}
