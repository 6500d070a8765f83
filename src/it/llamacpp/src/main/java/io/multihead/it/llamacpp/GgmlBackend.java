package io.multihead.it.llamacpp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/**
 * ggml's CPU backend with a permanent thread pool, like a context of llama.cpp. Threads wait for the next call as
 * between tokens. They first spin, so several pools would slow each other down. For one thread only.
 */
public final class GgmlBackend implements AutoCloseable {
    /** A size that is larger than {@code struct ggml_threadpool_params}. */
    private static final long POOL_PARAMETERS = 4096;

    final Native library;
    final MemorySegment device;
    final MemorySegment memory;
    private final MemorySegment pool;

    /**
     * Starts the threads.
     *
     * @param libraries the folder with libggml
     */
    public GgmlBackend(Path libraries, int threads) {
        library = Native.load(libraries);
        device = (MemorySegment) library.call("ggml_backend_dev_by_type", Native.POINTER, 0);
        memory = (MemorySegment) library.call("ggml_backend_dev_init", Native.POINTER, device, MemorySegment.NULL);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment parameters = arena.allocate(POOL_PARAMETERS);
            library.call("ggml_threadpool_params_init", null, parameters, threads);
            MethodHandle start = function("ggml_threadpool_new", Native.POINTER, Native.POINTER);
            pool = (MemorySegment) Native.invoke(start, parameters);
        }
        Native.invoke(function("ggml_backend_set_n_threads", null, Native.POINTER, Native.INT), memory, threads);
        Native.invoke(function("ggml_backend_cpu_set_threadpool", null, Native.POINTER, Native.POINTER), memory, pool);
    }

    /** Returns a function of the backend that its library does not export. */
    MethodHandle function(String name, MemoryLayout result, MemoryLayout... parameters) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment registry =
                    (MemorySegment) library.call("ggml_backend_dev_backend_reg", Native.POINTER, device);
            MemorySegment address = (MemorySegment) library.call(
                    "ggml_backend_reg_get_proc_address", Native.POINTER, registry, arena.allocateFrom(name));
            if (address.equals(MemorySegment.NULL)) {
                throw new IllegalStateException("ggml's CPU backend has no " + name);
            }
            return Native.function(address, result, parameters);
        }
    }

    @Override
    public void close() {
        library.call("ggml_backend_free", null, memory);
        Native.invoke(function("ggml_threadpool_free", null, Native.POINTER), pool);
    }
}
