package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.LayerWeights;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.Locale;

/** Calls that one service may make, each with tensors on the heap or in native memory. */
enum MixedCall {
    ATTENTION,
    CAUSAL,
    SMALL_ATTENTION,
    SGEMM,
    LINEAR,
    ROW,
    DECODE,
    DECODE_BF16,
    DECODE_F16,
    DECODE_I8,
    LAYER;

    private static final int HEADS = 8;
    private static final int KEY_HEADS = 2;
    private static final int KEYS = 1024;
    private static final int DIM = 64;
    private static final int FEATURES = 512;

    /**
     * The limit of the allocations of a warm call of the layer. Shapes, views and the record of used buffers took 16.7
     * KB after C2 had compiled the call. A new array for a projection of 128 tokens would be 256 KiB.
     */
    private static final long LAYER_BYTES = 32 << 10;

    static MixedCall of(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }

    /** Returns the number of bytes that a warm call may allocate, which is 0 for kernels. */
    long mostBytes() {
        return this == LAYER ? LAYER_BYTES : 0;
    }

    Runnable make(Compute cpu, boolean nativeMemory) {
        return switch (this) {
            case ATTENTION -> attention(cpu, nativeMemory, AttentionOptions.DEFAULT, 1, HEADS, 256, DIM);
            case CAUSAL -> attention(cpu, nativeMemory, AttentionOptions.CAUSAL, 1, HEADS, 256, DIM);
            case SMALL_ATTENTION -> attention(cpu, nativeMemory, AttentionOptions.DEFAULT, 1, 12, 16, 32);
            case SGEMM -> {
                Tensor a = tensor(nativeMemory, FEATURES, FEATURES);
                Tensor b = tensor(nativeMemory, FEATURES, FEATURES);
                Tensor c = tensor(nativeMemory, FEATURES, FEATURES);
                yield () -> Gemm.multiply(cpu, a, b, c, GemmOptions.DEFAULT);
            }
            case LINEAR -> linear(cpu, nativeMemory, 64);
            case ROW -> linear(cpu, nativeMemory, 1);
            case DECODE -> decode(cpu, nativeMemory, DType.F32);
            case DECODE_BF16 -> decode(cpu, nativeMemory, DType.BF16);
            case DECODE_F16 -> decode(cpu, nativeMemory, DType.F16);
            case DECODE_I8 -> decode(cpu, nativeMemory, DType.I8);
            case LAYER -> {
                LayerWeights weights = LayerWeights.draw(FEATURES);
                MultiHeadAttention layer = MultiHeadAttention.of(MultiHeadConfig.of(FEATURES, HEADS), weights::tensor);
                Tensor input = tensor(nativeMemory, 1, 128, FEATURES);
                Tensor output = tensor(nativeMemory, 1, 128, FEATURES);
                yield () -> layer.forward(cpu, input, output);
            }
        };
    }

    private static Runnable attention(Compute cpu, boolean nativeMemory, AttentionOptions options, long... dims) {
        Tensor query = tensor(nativeMemory, dims);
        Tensor key = tensor(nativeMemory, dims);
        Tensor value = tensor(nativeMemory, dims);
        Tensor output = tensor(nativeMemory, dims);
        return () -> Attention.forward(cpu, query, key, value, output, options);
    }

    private static Runnable linear(Compute cpu, boolean nativeMemory, int rows) {
        PackedWeights packed = PackedWeights.ofInputRows(tensor(nativeMemory, FEATURES, FEATURES));
        Tensor input = tensor(nativeMemory, rows, FEATURES);
        Tensor output = tensor(nativeMemory, rows, FEATURES);
        return () -> Gemm.multiply(cpu, input, packed, output, GemmOptions.DEFAULT);
    }

    private static Runnable decode(Compute cpu, boolean nativeMemory, DType dtype) {
        KeyValueCache cache = KeyValueCache.contiguous(
                KeyValueCache.Config.of(1, KEY_HEADS, DIM).withFormat(CacheFormat.of(dtype)), 1, KEYS);
        cache.append(
                cpu,
                0,
                0,
                tensor(nativeMemory, 1, KEY_HEADS, KEYS, DIM),
                tensor(nativeMemory, 1, KEY_HEADS, KEYS, DIM));
        Tensor query = tensor(nativeMemory, 1, HEADS, 1, DIM);
        KeyValueView view = cache.view(0, 0);
        AttentionOutputs outputs = AttentionOutputs.of(tensor(nativeMemory, 1, HEADS, 1, DIM));
        return () -> Attention.forward(cpu, query, view, outputs, AttentionOptions.CAUSAL);
    }

    private static Tensor tensor(boolean nativeMemory, long... dims) {
        return nativeMemory ? Data.tensor(1, dims) : Data.normal(1, 1, dims);
    }
}
