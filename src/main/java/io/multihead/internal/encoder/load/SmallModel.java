package io.multihead.internal.encoder.load;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.StoredWeight;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A model of small sizes, whose weights are 0. Its results are not used: it makes the JVM load the classes of the Vector API and begin to
 * compile the kernels.
 */
public final class SmallModel {
    /** The number of tokens: one full tile of five or six rows, and one tile of four rows. */
    private static final int TOKENS = 9;

    private static final BertConfig CONFIG = new BertConfig(64, 1, 2, 128, 1, TOKENS, 1, 1e-12);

    /** The largest number of batches. They take 0.3 s in a new JVM, and a few ms after the kernels were compiled. */
    public static final int MOST_BATCHES = 8;

    private SmallModel() {}

    /** Computes up to {@link #MOST_BATCHES} batches on the calling thread, until {@code isEnough} returns true, and returns their number. */
    public static int compute(BooleanSupplier isEnough) {
        if (isEnough.getAsBoolean()) {
            return 0;
        }
        Loading loading = Loading.of(Compute.serial());
        try {
            return compute(of(CONFIG, loading).transformer, isEnough);
        } finally {
            loading.close();
            loading.cpu().close();
        }
    }

    /** Returns a model of any sizes whose weights are 0. */
    public static EncoderModel of(BertConfig config, Loading loading) {
        return new EncoderModel(config, new Weights(loading, new Zeros()));
    }

    private static int compute(Transformer model, BooleanSupplier isEnough) {
        Buffers buffers = model.buffers(TOKENS);
        TokenBatch batch = TokenBatch.of(TOKENS);
        batch.begin();
        for (int token = 0; token < TOKENS; token++) {
            batch.add(0);
        }
        int batches = 0;
        try (Compute cpu = Compute.serial()) {
            while (batches < MOST_BATCHES && !isEnough.getAsBoolean()) {
                model.forward(cpu, batch, buffers);
                batches++;
            }
        }
        return batches;
    }

    /** Weights of 0 under any name, of the expected shape. */
    private record Zeros() implements WeightSource {
        @Override
        public Set<String> names() {
            return Set.of();
        }

        @Override
        public boolean contains(String name) {
            return !name.contains(".panels") && !name.contains(".weight.");
        }

        @Override
        public StoredWeight get(String name, Shape expected) {
            return StoredWeight.of(Tensor.of(new float[(int) expected.elements()], expected.toArray()));
        }

        @Override
        public long bytes(String name) {
            return 0;
        }
    }
}
