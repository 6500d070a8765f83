package io.multihead.internal.template;

/**
 * A value that was not set: it prints nothing, is false and has no elements; any other use is an error.
 *
 * @param what the name in messages
 */
record Undefined(String what) {
    Fault fault() {
        return new Fault(what + " is undefined");
    }
}
