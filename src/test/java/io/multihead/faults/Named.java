package io.multihead.faults;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.function.Executable;

/** Asserts that a call is rejected by an exception that names the argument. */
public final class Named {
    private Named() {}

    /** Fails unless the call throws an exception of the library whose message begins with {@code argument: }. */
    public static RuntimeException named(String argument, Executable call) {
        RuntimeException fault = assertThrows(RuntimeException.class, call);
        assertTrue(
                fault instanceof IllegalArgumentException || fault instanceof NullPointerException, fault.toString());
        assertTrue(String.valueOf(fault.getMessage()).startsWith(argument + ": "), fault.toString());
        return fault;
    }
}
