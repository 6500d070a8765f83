package io.multihead.jmh.report;

/** The measurements of a kind of processor: its name, the machine's own description, and the results. */
record Study(String name, String processor, Results results) {}
