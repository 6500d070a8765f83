package io.multihead.it.llamacpp;

import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Path;

/**
 * The exported functions of llama.cpp's shared libraries, from the folder of one build. The libraries remain loaded.
 */
final class Native {
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    static final AddressLayout POINTER = ValueLayout.ADDRESS;

    private static final Linker LINKER = Linker.nativeLinker();

    private final SymbolLookup symbols;

    private Native(SymbolLookup symbols) {
        this.symbols = symbols;
    }

    /** Loads the libraries, disables their logs, and lets them choose the kernels of this processor. */
    static Native load(Path folder) {
        Arena forever = Arena.global();
        SymbolLookup base = SymbolLookup.libraryLookup(folder.resolve("libggml-base.so"), forever);
        SymbolLookup ggml = SymbolLookup.libraryLookup(folder.resolve("libggml.v0.5.0.so"), forever);
        SymbolLookup llama = SymbolLookup.libraryLookup(folder.resolve("libllama.v0.5.0.so"), forever);
        Native loaded = new Native(llama.or(ggml).or(base));
        MemorySegment silent = loaded.silentLog(forever);
        loaded.call("llama_log_set", null, silent, MemorySegment.NULL);
        loaded.call("ggml_log_set", null, silent, MemorySegment.NULL);
        loaded.call("ggml_backend_load_all_from_path", null, forever.allocateFrom(folder.toString()));
        loaded.call("llama_backend_init", null);
        return loaded;
    }

    private MemorySegment silentLog(Arena arena) {
        try {
            MethodHandle ignore = MethodHandles.lookup()
                    .findStatic(
                            Native.class,
                            "ignore",
                            MethodType.methodType(void.class, int.class, MemorySegment.class, MemorySegment.class));
            return LINKER.upcallStub(ignore, FunctionDescriptor.ofVoid(INT, POINTER, POINTER), arena);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    @SuppressWarnings("unused") // called by llama.cpp
    private static void ignore(int level, MemorySegment text, MemorySegment data) {}

    /** Returns a function. {@code result} is null for void. */
    MethodHandle function(String name, MemoryLayout result, MemoryLayout... parameters) {
        return function(symbols.findOrThrow(name), result, parameters);
    }

    /** Returns the function at an address. */
    static MethodHandle function(MemorySegment address, MemoryLayout result, MemoryLayout... parameters) {
        return LINKER.downcallHandle(
                address,
                result == null ? FunctionDescriptor.ofVoid(parameters) : FunctionDescriptor.of(result, parameters));
    }

    /**
     * Calls a function once. The types of its parameters follow from the arguments: int, int64_t, bool, float or a
     * pointer in C.
     */
    Object call(String name, MemoryLayout result, Object... arguments) {
        MemoryLayout[] parameters = new MemoryLayout[arguments.length];
        for (int i = 0; i < arguments.length; i++) {
            parameters[i] = switch (arguments[i]) {
                case Integer any -> INT;
                case Long any -> LONG;
                case Boolean any -> ValueLayout.JAVA_BOOLEAN;
                case Float any -> ValueLayout.JAVA_FLOAT;
                default -> POINTER;
            };
        }
        return invoke(function(name, result, parameters), arguments);
    }

    static Object invoke(MethodHandle function, Object... arguments) {
        try {
            return function.invokeWithArguments(arguments);
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
