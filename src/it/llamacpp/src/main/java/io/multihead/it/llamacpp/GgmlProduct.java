package io.multihead.it.llamacpp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The product of an input with one weight matrix, by {@code ggml_mul_mat} on ggml's CPU backend. The matrix has the
 * layout to which llama.cpp repacks it for this processor. For one thread only.
 */
public final class GgmlProduct implements AutoCloseable {
    private static final int F32 = 0;

    /** {@code struct ggml_init_params}: bytes, memory or null, no_alloc. */
    private static final StructLayout INIT = MemoryLayout.structLayout(
            Native.LONG, Native.POINTER, ValueLayout.JAVA_BOOLEAN, MemoryLayout.paddingLayout(7));

    /** The bytes of a context without tensor contents: the descriptions of some tensors and a graph. */
    private static final long CONTEXT_BYTES = 1L << 20;

    /** The offset of member {@code buffer} of {@code struct ggml_tensor}, after its type. */
    private static final long BUFFER = 8;

    private final Arena arena = Arena.ofShared();
    private final List<Runnable> frees = new ArrayList<>();
    private final Native library;
    private final GgmlBackend backend;
    private final MemorySegment graph;
    private final MemorySegment y;
    private final MemorySegment result;
    private final String layout;
    private final MethodHandle compute;
    private final MethodHandle get;

    /**
     * A matrix {@code [outputs, inputs]} in native memory, in the form of ggml's files. {@code type} is the name of a
     * format.
     */
    public record Matrix(String type, MemorySegment bytes, long inputs, long outputs) {}

    /**
     * Copies a matrix to ggml.
     *
     * @param backend computes the products sequentially; remains the caller's
     * @param x rows {@code [rows, inputs]}, copied
     * @throws IllegalStateException if ggml has no memory for the matrix
     */
    public GgmlProduct(GgmlBackend backend, Matrix matrix, FloatBuffer x) {
        this.backend = backend;
        library = backend.library;
        MemorySegment weights = context();
        MemorySegment w =
                pointer("ggml_new_tensor_2d", weights, number(matrix.type()), matrix.inputs(), matrix.outputs());
        MemorySegment rows = context();
        long count = x.capacity() / matrix.inputs();
        MemorySegment input = pointer("ggml_new_tensor_2d", rows, F32, matrix.inputs(), count);
        y = pointer("ggml_mul_mat", rows, w, input);
        graph = pointer("ggml_new_graph", rows);
        library.call("ggml_build_forward_expand", null, graph, y);
        MemorySegment buffers = buffersFor(w);
        layout = pointer("ggml_backend_buft_name", buffers).reinterpret(256).getString(0);
        allocate(weights, buffers);
        allocate(rows, pointer("ggml_backend_dev_buffer_type", backend.device));
        library.call(
                "ggml_backend_tensor_set",
                null,
                w,
                matrix.bytes(),
                0L,
                matrix.bytes().byteSize());
        MemorySegment copy = arena.allocate(4L * x.capacity(), 64);
        copy.copyFrom(MemorySegment.ofBuffer(x.duplicate().clear()));
        library.call("ggml_backend_tensor_set", null, input, copy, 0L, copy.byteSize());
        result = arena.allocate(4L * count * matrix.outputs(), 64);
        compute = library.function("ggml_backend_graph_compute", Native.INT, Native.POINTER, Native.POINTER);
        get = library.function(
                "ggml_backend_tensor_get", null, Native.POINTER, Native.POINTER, Native.LONG, Native.LONG);
    }

    /** Returns ggml's number of a format. */
    static int number(String format) {
        return switch (format) {
            case "F16" -> 1;
            case "BF16" -> 30;
            case "Q8_0" -> 8;
            case "Q4_0" -> 2;
            case "Q4_1" -> 3;
            case "Q5_0" -> 6;
            case "Q5_1" -> 7;
            case "Q2_K" -> 10;
            case "Q3_K" -> 11;
            case "Q4_K" -> 12;
            case "Q5_K" -> 13;
            case "Q6_K" -> 14;
            case "MXFP4" -> 39;
            case "IQ4_NL" -> 20;
            case "IQ4_XS" -> 23;
            default -> throw new IllegalArgumentException("format: " + format);
        };
    }

    /** Returns the name of ggml's kind of memory for the matrix: {@code CPU}, or another buffer type in which it gets a new layout. */
    public String layout() {
        return layout;
    }

    /** Computes the product, and copies it to {@code to}. */
    public void multiply(FloatBuffer to) {
        try {
            int status = (int) compute.invokeExact(backend.memory, graph);
            if (status != 0) {
                throw new IllegalStateException("ggml_backend_graph_compute: " + status);
            }
            get.invokeExact(y, result, 0L, result.byteSize());
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
        MemorySegment.ofBuffer(to).copyFrom(result);
    }

    @Override
    public void close() {
        frees.reversed().forEach(Runnable::run);
        arena.close();
    }

    /**
     * Returns the first buffer type with kernels for the matrix. llama.cpp makes the same search when it loads a model.
     */
    private MemorySegment buffersFor(MemorySegment w) {
        MethodHandle list = backend.function("ggml_backend_dev_get_extra_bufts", Native.POINTER, Native.POINTER);
        MemorySegment others =
                ((MemorySegment) Native.invoke(list, backend.device)).reinterpret(64 * Native.POINTER.byteSize());
        MemorySegment described = w.reinterpret(BUFFER + Native.POINTER.byteSize());
        for (long i = 0; !others.getAtIndex(Native.POINTER, i).equals(MemorySegment.NULL); i++) {
            MemorySegment kind = others.getAtIndex(Native.POINTER, i);
            MemorySegment empty = pointer("ggml_backend_buft_alloc_buffer", kind, 0L);
            described.set(Native.POINTER, BUFFER, empty);
            boolean has =
                    (boolean) library.call("ggml_backend_dev_supports_op", ValueLayout.JAVA_BOOLEAN, backend.device, y);
            described.set(Native.POINTER, BUFFER, MemorySegment.NULL);
            library.call("ggml_backend_buffer_free", null, empty);
            if (has) {
                return kind;
            }
        }
        return pointer("ggml_backend_dev_buffer_type", backend.device);
    }

    private void allocate(MemorySegment context, MemorySegment kind) {
        MemorySegment buffer = pointer("ggml_backend_alloc_ctx_tensors_from_buft", context, kind);
        if (buffer.equals(MemorySegment.NULL)) {
            close();
            throw new IllegalStateException("ggml has no memory for a matrix of " + layout);
        }
        frees.add(() -> library.call("ggml_backend_buffer_free", null, buffer));
    }

    private MemorySegment context() {
        MemorySegment parameters = arena.allocate(INIT);
        parameters.set(Native.LONG, 0, CONTEXT_BYTES);
        parameters.set(ValueLayout.JAVA_BOOLEAN, 16, true);
        MethodHandle init = library.function("ggml_init", Native.POINTER, INIT);
        MemorySegment context = (MemorySegment) Native.invoke(init, parameters);
        frees.add(() -> library.call("ggml_free", null, context));
        return context;
    }

    private MemorySegment pointer(String name, Object... arguments) {
        return (MemorySegment) library.call(name, Native.POINTER, arguments);
    }
}
