package io.multihead.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.function.Executable;

/** Asserts that a call is rejected with an exception that names the argument, or states the expected value. */
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

    /** Fails unless the call throws an {@link IllegalArgumentException} with exactly this message. */
    public static void message(String expected, Executable call) {
        assertEquals(
                expected, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    /** Fails unless the call throws an {@link IllegalArgumentException} whose message has all of these parts. */
    public static void mentions(Executable call, String... parts) {
        IllegalArgumentException fault = assertThrows(IllegalArgumentException.class, call);
        for (String part : parts) {
            assertTrue(fault.getMessage().contains(part), fault.getMessage());
        }
    }
}
