package io.multihead.jmh.peer;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;

/** Settings of OpenMP, which peers use. */
public final class OpenMp {
    private OpenMp() {}

    /**
     * Sets the number of threads for the work of the calling thread. With this library name, the linker finds the
     * OpenMP that a peer has loaded.
     */
    public static void threads(int threads) {
        MemorySegment set =
                SymbolLookup.libraryLookup("libgomp.so.1", Arena.global()).findOrThrow("omp_set_num_threads");
        try {
            Linker.nativeLinker()
                    .downcallHandle(set, FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT))
                    .invokeExact(threads);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Makes threads sleep between two jobs instead of spinning. OpenMP reads the setting when it is loaded, so this
     * must be called before.
     */
    public static void sleepBetweenJobs() {
        Linker linker = Linker.nativeLinker();
        try (Arena arena = Arena.ofConfined()) {
            int status = (int) linker.downcallHandle(
                            linker.defaultLookup().findOrThrow("setenv"),
                            FunctionDescriptor.of(
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.ADDRESS,
                                    ValueLayout.ADDRESS,
                                    ValueLayout.JAVA_INT))
                    .invokeExact(arena.allocateFrom("OMP_WAIT_POLICY"), arena.allocateFrom("PASSIVE"), 1);
            if (status != 0) {
                throw new IllegalStateException("setenv ended with " + status);
            }
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
