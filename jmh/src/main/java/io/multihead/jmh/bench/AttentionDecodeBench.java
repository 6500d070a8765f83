package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Onnx;
import io.multihead.jmh.peer.Torch;
import io.multihead.jmh.rival.JavaDecode;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Locale;
import org.openjdk.jmh.annotations.Param;

/**
 * One new token with 32 query heads of 128 elements attends to the keys of a cache. Each peer stores keys and values in
 * its layout.
 */
public class AttentionDecodeBench extends ThreadedComparison {
    private static final int HEADS = 32;
    private static final int DIM = 128;

    /** This library with an f32 cache, a paged cache and narrow caches, two forms of Java loops, and native peers. */
    @Param({"multihead", "paged", "bf16", "f16", "i8", "i8blocks", "scalar", "reducelanes", "onnxruntime", "pytorch"})
    public String impl;

    @Param({"4096", "32768"})
    public int keys;

    @Param({"8", "32"})
    public int keyValueHeads;

    @Override
    public Work work() {
        int elementSize =
                switch (impl) {
                    case "bf16", "f16" -> Short.BYTES;
                    case "i8", "i8blocks" -> Byte.BYTES;
                    default -> Float.BYTES;
                };
        // each key and value is read once for all query heads that share it
        return Work.bytes(2.0 * keys * keyValueHeads * DIM * elementSize);
    }

    @Override
    void open() throws Exception {
        FloatBuffer q = Data.gaussian(HEADS * DIM, 1);
        FloatBuffer k = Data.gaussian(keyValueHeads * keys * DIM, 2);
        FloatBuffer v = Data.gaussian(keyValueHeads * keys * DIM, 3);
        // the rounding of narrow keys changes scores of about 4 by 4 times 2^-8 for bf16, and by about as much for i8
        boolean narrow = impl.equals("bf16") || impl.startsWith("i8");
        // the average of 32768 values of up to 4 is 0.05, and roundings of the values are 100 times larger relative to
        // it
        double tolerance = narrow ? 0.06 : impl.equals("f16") ? 6e-3 : 2e-5;
        compare(impl, HEADS * DIM, out -> plain(q, k, v, out), out -> make(q, k, v, out), tolerance);
    }

    private Runnable make(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) throws Exception {
        return switch (impl) {
            case "multihead", "bf16", "f16", "i8", "i8blocks" ->
                cached(KeyValueCache.contiguous(config(), 1, keys), q, k, v, out);
            case "paged" -> cached(KeyValueCache.paged(config(), 1L << 31), q, k, v, out);
            case "onnxruntime" -> onnx(q, k, v, out);
            case "pytorch" -> torch(q, k, v, out);
            case "scalar", "reducelanes" ->
                new JavaDecode(impl, HEADS, keyValueHeads, keys, DIM, threads).on(q, k, v, out);
            default -> throw unknown(impl);
        };
    }

    private KeyValueCache.Config config() {
        CacheFormat format =
                switch (impl) {
                    case "bf16", "f16", "i8" -> CacheFormat.of(DType.valueOf(impl.toUpperCase(Locale.ROOT)));
                    case "i8blocks" -> CacheFormat.I8_BLOCKS;
                    default -> CacheFormat.of(DType.F32);
                };
        return KeyValueCache.Config.of(1, keyValueHeads, DIM).withFormat(format);
    }

    private Runnable cached(KeyValueCache cache, FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        int sequence = impl.equals("paged") ? cache.open() : 0;
        cache.append(cpu, 0, sequence, view(k, keyValueHeads, keys), view(v, keyValueHeads, keys));
        Tensor query = view(q, HEADS, 1);
        KeyValueView view = cache.view(0, sequence);
        AttentionOutputs outputs = AttentionOutputs.of(view(out, HEADS, 1));
        return () -> Attention.forward(cpu, query, view, outputs, AttentionOptions.CAUSAL);
    }

    private Runnable plain(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        return () -> Attention.forward(
                cpu,
                view(q, HEADS, 1),
                view(k, keyValueHeads, keys),
                view(v, keyValueHeads, keys),
                view(out, HEADS, 1),
                AttentionOptions.CAUSAL);
    }

    /**
     * The last token of the cache is passed as the new token, so that all impls attend to the same keys. Past and
     * present share memory.
     */
    private Runnable onnx(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) throws Exception {
        FloatBuffer key = Data.zeros(keyValueHeads * DIM);
        FloatBuffer value = Data.zeros(keyValueHeads * DIM);
        for (int i = 0; i < keyValueHeads * DIM; i++) {
            int at = (i / DIM * keys + keys - 1) * DIM + i % DIM;
            key.put(i, k.get(at));
            value.put(i, v.get(at));
        }
        long[] kv = {1, 1, (long) keyValueHeads * DIM};
        long[] past = {1, keyValueHeads, keys, DIM};
        return new Onnx("GroupQueryAttention", "com.microsoft")
                .input("q", q, 1, 1, (long) HEADS * DIM)
                .input("k", key, kv)
                .input("v", value, kv)
                .input("past_key", k, past)
                .input("past_value", v, past)
                .input("seqlens_k", IntBuffer.wrap(new int[] {keys - 1}), 1)
                .input("total_sequence_length", IntBuffer.wrap(new int[] {keys}), 1)
                .attribute("num_heads", HEADS)
                .attribute("kv_num_heads", keyValueHeads)
                .output(out, 1, 1, (long) HEADS * DIM)
                .sharedOutput("present_key", "past_key", past)
                .sharedOutput("present_value", "past_value", past)
                .open(threads);
    }

    private Runnable torch(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        Torch.attentionThreads(threads);
        // heads of a group are queries of one head, since PyTorch's method for shared heads takes a second and more
        org.bytedeco.pytorch.Tensor query = Torch.copy(q, 1, keyValueHeads, HEADS / keyValueHeads, DIM);
        org.bytedeco.pytorch.Tensor key = Torch.copy(k, 1, keyValueHeads, keys, DIM);
        org.bytedeco.pytorch.Tensor value = Torch.copy(v, 1, keyValueHeads, keys, DIM);
        Torch.read(Torch.attend(query, key, value, false), out);
        return Torch.inference(() -> Torch.attend(query, key, value, false));
    }

    private static Tensor view(FloatBuffer buffer, int heads, int tokens) {
        return Data.tensor(buffer, 1, heads, tokens, DIM);
    }
}
