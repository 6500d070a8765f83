package io.multihead.jmh.report;

/** The measurements of a kind of processor: its name, the description by the machine, and the results. */
record Study(String name, String processor, Results results) {}
