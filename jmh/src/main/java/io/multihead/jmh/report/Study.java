package io.multihead.jmh.report;

/**
 * The measurements of one kind of processor.
 *
 * @param name what people call the kind
 * @param processor what the machine says of itself
 * @param results the results
 */
record Study(String name, String processor, Results results) {}
