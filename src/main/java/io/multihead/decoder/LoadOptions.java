package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Options of loading a model. Immutable, and thread-safe if the listener is thread-safe.
 *
 * @param listener receives the progress
 * @param eightBitInputs whether products with weights of 4 bits round their inputs to 8 bits
 * @param adapter the folder of adapters that are merged into the model; null for none
 */
public record LoadOptions(
        LoadListener listener,
        boolean eightBitInputs,
        @Nullable Path adapter) {
    /** No listener, no rounding of inputs and no adapters. */
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
     * {@return these options with or without 8-bit inputs of products with 4-bit weights}
     *
     * <p>Products with weights in Q4_0, Q4_1 and Q4_K then sum integers, as in llama.cpp. This is faster in a model of 1B weights, and
     * slower in a model of 135M weights. The model may choose other tokens, since the error of each product is about half a percent of its
     * standard deviation ({@link io.multihead.gemm.PackedWeights#withEightBitInputs}). Products with other weights do not change, and the
     * tokens of a session are the same in any batch and on any threads.
     *
     * @param rounded whether inputs are rounded
     */
    public LoadOptions withEightBitInputs(boolean rounded) {
        return new LoadOptions(listener, rounded, adapter);
    }

    /**
     * {@return these options with low-rank adapters that PEFT or {@code io.multihead.train.LoraAdapter} wrote}
     *
     * <p>The adapters are merged into the matrices of a folder's model: {@code W + alpha / rank B A}. If {@code use_rslora} is set, the
     * divisor is the square root of the rank. The sum is computed in f32 and rounded once to the storage type of W. {@code rank_pattern}
     * and {@code alpha_pattern} are supported. Modules that are saved as a whole replace the modules of the model, rounded to their storage
     * types. If the head is the table of embeddings, a change of one of the two without an equal change of the other is refused. DoRA,
     * biases, other kinds of adapters, and adapters of a GGUF file are refused with an error that names them.
     *
     * @param folder a folder with {@code adapter_config.json} and {@code adapter_model.safetensors}, or null for none
     */
    public LoadOptions withAdapter(@Nullable Path folder) {
        return new LoadOptions(listener, eightBitInputs, folder);
    }
}
