package io.multihead.internal.template;

/**
 * A value that nobody gave: it prints nothing, is false and has no elements; everything else is an error.
 *
 * @param what its name in messages
 */
record Undefined(String what) {
    Fault fault() {
        return new Fault(what + " is undefined");
    }
}
