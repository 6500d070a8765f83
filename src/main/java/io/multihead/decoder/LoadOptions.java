package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * How a model is loaded. Immutable and thread-safe, if the listener is.
 *
 * @param listener receives the progress
 * @param eightBitInputs whether products with weights of 4 bits round their inputs to 8 bits
 * @param adapter the folder of adapters that are merged into the model; null for none
 */
public record LoadOptions(
        LoadListener listener,
        boolean eightBitInputs,
        @Nullable Path adapter) {
    /** No listener and no rounding. */
    public static final LoadOptions DEFAULT = new LoadOptions(LoadListener.NONE, false, null);

    /** Checks the listener. */
    public LoadOptions {
        Checks.notNull(listener, "listener");
    }

    /**
     * {@return these options with another listener}
     *
     * @param newListener receives the progress
     */
    public LoadOptions withListener(LoadListener newListener) {
        return new LoadOptions(newListener, eightBitInputs, adapter);
    }

    /**
     * {@return these options with inputs of 4-bit weights in 8 bits, or not}
     *
     * <p>Products with weights in Q4_0, Q4_1 and Q4_K then sum integers, as in llama.cpp. This is faster in a model of 1B weights, and
     * slower in one of 135M. Other tokens may be chosen, since each product is off by about half a percent of its spread
     * ({@link io.multihead.gemm.PackedWeights#withEightBitInputs}). Products with other weights do not change, and the tokens of a session are the
     * same in any batch, on any threads.
     *
     * @param rounded whether to round
     */
    public LoadOptions withEightBitInputs(boolean rounded) {
        return new LoadOptions(listener, rounded, adapter);
    }

    /**
     * {@return these options with low-rank adapters that PEFT or {@code io.multihead.train.LoraAdapter} wrote}
     *
     * <p>They are merged into the matrices of a folder's model: {@code W + alpha / rank B A}, or by the root of the rank where
     * {@code use_rslora} is set, summed in f32 and rounded once to the type that W is stored in. Patterns of ranks and alphas are obeyed, and
     * modules that are saved whole beside adapters take the place of the model's own. DoRA, biases and other kinds of adapters are refused by
     * name; so is a GGUF file.
     *
     * @param folder with {@code adapter_config.json} and {@code adapter_model.safetensors}, or null for none
     */
    public LoadOptions withAdapter(@Nullable Path folder) {
        return new LoadOptions(listener, eightBitInputs, folder);
    }
}
