package io.multihead.jmh.bench;

import io.multihead.cache.RecurrentCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Peer;
import io.multihead.model.Buffers;
import io.multihead.model.GatedLinearAttention;
import io.multihead.model.LinearDecay;
import io.multihead.model.LinearGroup;
import io.multihead.model.LinearHeads;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.model.RecurrentSizes;
import io.multihead.model.TokenBatch;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * A layer of linear attention of the sizes of Qwen3.5-0.8B: {@code multihead} for the next tokens of a sequence that has some, and {@code products}
 * its five products alone, which are the least that it has to do.
 */
public class LinearAttentionBench extends ThreadedComparison {
    private static final int DIM = 1024;
    private static final LinearHeads HEADS = new LinearHeads(16, 16, 128, 128, true);
    private static final int WIDTH = 16 * 128;
    private static final int CHANNELS = 3 * WIDTH;
    private static final int PART = 512;

    @Param({"multihead", "products"})
    public String impl;

    @Param({"Q8_0", "Q4_K"})
    public String format;

    @Param({"1", "2048"})
    public int tokens;

    /** Tokens before the calls. */
    @Param({"0", "128", "32768"})
    public int context;

    @Override
    public Work work() {
        return Work.operations(2.0 * tokens * DIM * (CHANNELS + 2 * WIDTH + 2 * 16));
    }

    @Setup(Level.Trial)
    public void open() {
        cpu = Compute.threads(threads);
        GatedLinearAttention part = part();
        Tensor x = Data.tensor(Data.gaussian(tokens * DIM, 1), tokens, DIM);
        Tensor y = Data.tensor(Data.zeros(tokens * DIM), tokens, DIM);
        load(impl, () -> switch (impl) {
            case "multihead" -> next(part, x, y);
            case "products" -> products(part, x, y);
            default -> throw Peer.unknown(impl);
        });
    }

    private Runnable next(GatedLinearAttention part, Tensor x, Tensor y) {
        RecurrentCache cache = RecurrentCache.of(part.states().stream()
                .mapToInt(size -> ((RecurrentSizes) size).floats())
                .toArray());
        int sequence = cache.open();
        Buffers buffers = part.buffers(Math.max(tokens, PART));
        Tensor rows = Data.tensor(Data.gaussian(PART * DIM, 2), PART, DIM);
        Tensor room = Data.tensor(Data.zeros(PART * DIM), PART, DIM);
        for (int done = 0; done < context; done += PART) {
            int count = Math.min(PART, context - done);
            part.forward(cpu, batch(cache, sequence, count), rows.slice(0, 0, count), room.slice(0, 0, count), buffers);
        }
        TokenBatch batch = batch(cache, sequence, tokens);
        return () -> part.forward(cpu, batch, x, y, buffers);
    }

    private static TokenBatch batch(RecurrentCache cache, int sequence, int count) {
        TokenBatch batch = TokenBatch.of(cache, count);
        batch.begin(sequence);
        for (int i = 0; i < count; i++) {
            batch.add(0);
        }
        return batch;
    }

    private Runnable products(GatedLinearAttention part, Tensor x, Tensor y) {
        LinearGroup projections = part.projections();
        int outputs = CHANNELS + WIDTH + 2 * 16;
        Tensor all = Data.tensor(Data.zeros(tokens * outputs), tokens, outputs);
        Tensor context = Data.tensor(Data.gaussian(tokens * WIDTH, 3), tokens, WIDTH);
        return () -> {
            projections.forward(cpu, x, all);
            part.output().forward(cpu, context, y);
        };
    }

    private GatedLinearAttention part() {
        LinearGroup projections =
                LinearGroup.of(linear(DIM, CHANNELS, 1), linear(DIM, WIDTH, 2), linear(DIM, 16, 3), linear(DIM, 16, 4));
        FloatBuffer slopes = Data.gaussian(16, 5);
        for (int i = 0; i < 16; i++) {
            slopes.put(i, -Math.abs(slopes.get(i)));
        }
        FloatBuffer ones = Data.zeros(128);
        for (int i = 0; i < 128; i++) {
            ones.put(i, 1);
        }
        return GatedLinearAttention.of(
                HEADS,
                projections,
                Data.tensor(Data.gaussian(CHANNELS * 4, 6), CHANNELS, 4),
                LinearDecay.of(row(slopes), row(Data.gaussian(16, 7))),
                Norm.rms(row(ones), 1e-6),
                linear(WIDTH, DIM, 8));
    }

    private static Tensor row(FloatBuffer buffer) {
        return Data.tensor(buffer, buffer.capacity());
    }

    private PackedLinear linear(int inputs, int outputs, int seed) {
        Tensor matrix = Data.tensor(Data.gaussian(inputs * outputs, seed), outputs, inputs);
        return PackedLinear.of(PackedWeights.ofOutputRows(Arena.ofAuto(), matrix, WeightFormat.valueOf(format)));
    }
}
