package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.GemmAttention;
import io.multihead.jmh.peer.Onnx;
import io.multihead.jmh.peer.Torch;
import io.multihead.jmh.rival.JavaAttention;
import io.multihead.jmh.rival.Materializing;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Param;

/** Self-attention with tensors {@code (batch, tokens, heads, dim)} in native memory, as the peers require. */
public class AttentionForwardBench extends ThreadedComparison {
    @Param({"multihead", "materializing", "scalar", "reducelanes", "onnxruntime", "onnxgqa", "openblas", "pytorch"})
    public String impl;

    /** The sizes: batch, heads, tokens, headDim. */
    @Param({"1x8x512x64", "1x8x2048x64", "1x8x4096x64", "1x32x1024x128"})
    public String shape;

    @Param({"false", "true"})
    public boolean causal;

    private int batch;
    private int heads;
    private int tokens;
    private int dim;

    @Override
    public Work work() {
        int[] sizes = Data.sizes(shape);
        return Work.operations(Work.attention((double) sizes[0] * sizes[1], sizes[2], sizes[3], causal));
    }

    @Override
    void open() throws Exception {
        prepare();
        int length = batch * heads * tokens * dim;
        FloatBuffer q = Data.gaussian(length, 1);
        FloatBuffer k = Data.gaussian(length, 2);
        FloatBuffer v = Data.gaussian(length, 3);
        // 4096 keys in one chain have roundings of 2^-24 each; with random signs, their sum is about the square root of
        // their number
        compare(impl, length, out -> ours(q, k, v, out), out -> make(q, k, v, out), 1e-5);
    }

    void prepare() {
        int[] sizes = Data.sizes(shape);
        batch = sizes[0];
        heads = sizes[1];
        tokens = sizes[2];
        dim = sizes[3];
    }

    /** Returns the call of the impl. PyTorch's call writes its result here, and the other calls when they run. */
    Runnable make(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) throws Exception {
        long[] flat = {batch, tokens, (long) heads * dim};
        return switch (impl) {
            case "multihead" -> ours(q, k, v, out);
            case "materializing" -> Materializing.attention(cpu, view(q), view(k), view(v), view(out), options());
            case "onnxruntime" ->
                new Onnx("MultiHeadAttention", "com.microsoft")
                        .input("q", q, flat)
                        .input("k", k, flat)
                        .input("v", v, flat)
                        .attribute("num_heads", heads)
                        .attribute("unidirectional", causal ? 1 : 0)
                        .output(out, flat)
                        .open(threads);
            case "openblas" ->
                new GemmAttention(new int[] {batch, heads, tokens, dim}, causal, cpu, threads).on(q, k, v, out);
            case "onnxgqa" -> grouped(q, k, v, out, flat);
            case "pytorch" -> torch(q, k, v, out);
            case "reducelanes" -> java(threads).on(q, k, v, out);
            case "scalar" -> java(1).on(q, k, v, out); // the loops of a service use one thread
            default -> throw unknown(impl);
        };
    }

    /**
     * Grouped-query attention of ONNX Runtime requires a cache for keys and values, as at the first call of an engine.
     */
    private Runnable grouped(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out, long[] flat)
            throws Exception {
        if (!causal) {
            throw absent(impl, "is causal always");
        }
        long[] cache = {batch, heads, tokens, dim};
        int[] last = new int[batch];
        Arrays.fill(last, tokens - 1);
        return new Onnx("GroupQueryAttention", "com.microsoft")
                .input("q", q, flat)
                .input("k", k, flat)
                .input("v", v, flat)
                .from("")
                .from("")
                .input("seqlens_k", IntBuffer.wrap(last), batch)
                .input("total_sequence_length", IntBuffer.wrap(new int[] {tokens}), 1)
                .attribute("num_heads", heads)
                .attribute("kv_num_heads", heads)
                .output(out, flat)
                .output("present_key", Data.zeros(k.capacity()), cache)
                .output("present_value", Data.zeros(v.capacity()), cache)
                .open(threads);
    }

    private Runnable torch(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        Torch.attentionThreads(threads);
        org.bytedeco.pytorch.Tensor query = torch(q);
        org.bytedeco.pytorch.Tensor key = torch(k);
        org.bytedeco.pytorch.Tensor value = torch(v);
        Torch.read(Torch.attend(query, key, value, causal).transpose(1, 2), out);
        return Torch.inference(() -> Torch.attend(query, key, value, causal));
    }

    private org.bytedeco.pytorch.Tensor torch(FloatBuffer values) {
        return Torch.copy(values, batch, tokens, heads, dim).transpose(1, 2);
    }

    private JavaAttention java(int workers) {
        return new JavaAttention(impl, new int[] {batch, heads, tokens, dim}, causal, workers);
    }

    private Runnable ours(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        Tensor query = view(q);
        Tensor key = view(k);
        Tensor value = view(v);
        Tensor output = view(out);
        AttentionOptions options = options();
        return () -> Attention.forward(cpu, query, key, value, output, options);
    }

    private AttentionOptions options() {
        return causal ? AttentionOptions.CAUSAL : AttentionOptions.DEFAULT;
    }

    /** Returns a buffer as {@code [batch, heads, tokens, dim]}. */
    Tensor view(FloatBuffer buffer) {
        return Data.tensor(buffer, batch, tokens, heads, dim).permute(0, 2, 1, 3);
    }
}
