package io.multihead.jmh.bench;

import io.multihead.cache.RecurrentCache;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.RandomLinear;
import io.multihead.model.Buffers;
import io.multihead.model.GatedLinearAttention;
import io.multihead.model.LinearDecay;
import io.multihead.model.LinearGroup;
import io.multihead.model.LinearHeads;
import io.multihead.model.Mamba2;
import io.multihead.model.Mamba2Heads;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.model.Part;
import io.multihead.model.RecurrentSizes;
import io.multihead.model.TokenBatch;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/**
 * A layer of linear attention with the sizes of Qwen3.5-0.8B, or of Mamba-2 with the sizes of Granite 4 H Micro.
 * {@code multihead} computes the next tokens of a sequence. {@code products} computes only the products of the layer,
 * which are its minimum work.
 */
public class LinearAttentionBench extends ThreadedComparison {
    private static final LinearHeads HEADS = new LinearHeads(16, 16, 128, 128, true);
    private static final Mamba2Heads MAMBA_HEADS = new Mamba2Heads(64, 64, 1, 128);
    private static final int PART = 512;

    @Param({"deltaRule", "mamba2"})
    public String layer;

    @Param({"multihead", "products"})
    public String impl;

    @Param({"Q8_0", "Q4_K"})
    public String format;

    @Param({"1", "2048"})
    public int tokens;

    /** The number of tokens before the calls. */
    @Param({"0", "128", "32768"})
    public int context;

    private record Layer(Part part, LinearGroup projections, PackedLinear output) {}

    @Override
    public Work work() {
        boolean isMamba = layer.equals("mamba2");
        double weights = isMamba ? 2048.0 * (8512 + 4096) : 1024.0 * (3 * 2048 + 2 * 2048 + 2 * 16);
        return Work.operations(2 * tokens * weights);
    }

    @Override
    void open() {
        Layer all =
                switch (layer) {
                    case "deltaRule" -> deltaRule();
                    case "mamba2" -> mamba();
                    default -> throw unknown(layer);
                };
        int dim = all.part.dim();
        Tensor x = Data.tensor(1, tokens, dim);
        Tensor y = Data.tensor(Data.zeros(tokens * dim), tokens, dim);
        load(impl, () -> switch (impl) {
            case "multihead" -> next(all.part, x, y);
            case "products" -> products(all, x, y);
            default -> throw unknown(impl);
        });
    }

    private Runnable next(Part part, Tensor x, Tensor y) {
        int dim = part.dim();
        RecurrentCache cache = RecurrentCache.of(part.states().stream()
                .mapToInt(size -> ((RecurrentSizes) size).floats())
                .toArray());
        int sequence = cache.open();
        Buffers buffers = part.buffers(Math.max(tokens, PART));
        Tensor rows = Data.tensor(2, PART, dim);
        Tensor room = Data.tensor(Data.zeros(PART * dim), PART, dim);
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

    private Runnable products(Layer of, Tensor x, Tensor y) {
        int outputs = of.projections.width();
        int width = of.output.inputs();
        Tensor all = Data.tensor(Data.zeros(tokens * outputs), tokens, outputs);
        Tensor context = Data.tensor(3, tokens, width);
        return () -> {
            of.projections.forward(cpu, x, all);
            of.output.forward(cpu, context, y);
        };
    }

    private Layer deltaRule() {
        int dim = 1024;
        int width = 16 * 128;
        LinearGroup projections = LinearGroup.of(
                RandomLinear.of(format, dim, 3 * width, 1),
                RandomLinear.of(format, dim, width, 2),
                RandomLinear.of(format, dim, 16, 3),
                RandomLinear.of(format, dim, 16, 4));
        PackedLinear output = RandomLinear.of(format, width, dim, 8);
        Tensor taps = Data.tensor(6, 3 * width, 4);
        return new Layer(
                GatedLinearAttention.of(HEADS, projections, taps, decay(16), norm(128), output), projections, output);
    }

    private Layer mamba() {
        int dim = 2048;
        int width = 64 * 64;
        int channels = width + 2 * 128;
        LinearGroup projections =
                LinearGroup.concatenated(RandomLinear.of(format, dim, width + channels + 64, 1), width, channels, 64);
        PackedLinear output = RandomLinear.of(format, width, dim, 8);
        Tensor taps = Data.tensor(6, channels, 4);
        Mamba2 part = Mamba2.of(MAMBA_HEADS, projections, taps, decay(64), norm(width), output)
                .withSkip(row(Data.gaussian(64, 9)))
                .withConvolutionBias(row(Data.gaussian(channels, 10)));
        return new Layer(part, projections, output);
    }

    private static LinearDecay decay(int heads) {
        FloatBuffer slopes = Data.gaussian(heads, 5);
        for (int i = 0; i < heads; i++) {
            slopes.put(i, -Math.abs(slopes.get(i)));
        }
        return LinearDecay.of(row(slopes), row(Data.gaussian(heads, 7)));
    }

    private static Norm norm(int length) {
        Tensor ones = row(Data.zeros(length));
        ones.fill(1);
        return Norm.rms(ones, 1e-6);
    }

    private static Tensor row(FloatBuffer buffer) {
        return Data.tensor(buffer, buffer.capacity());
    }
}
