package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.load.Loading;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * How an encoder of any kind is loaded. Immutable and thread-safe.
 *
 * @param format of matrices and of the table of words, to which they are rounded; null as they are stored
 * @param adapter the folder of adapters that are merged into the model; null for none
 */
public record EncoderLoadOptions(
        @Nullable WeightFormat format, @Nullable Path adapter) {
    /** Weights as they are stored, without adapters. */
    public static final EncoderLoadOptions DEFAULT = new EncoderLoadOptions(null, null);

    /**
     * {@return these options with matrices and the table of words in a format} Q8_0 takes 0.27 of the memory of f32, bf16 and f16 half. Other
     * tables, biases and norms are not rounded.
     *
     * @param newFormat of the weights, or null as they are stored
     */
    public EncoderLoadOptions withFormat(@Nullable WeightFormat newFormat) {
        return new EncoderLoadOptions(newFormat, adapter);
    }

    /**
     * {@return these options with low-rank adapters that PEFT or {@code io.multihead.train.LoraAdapter} wrote}
     *
     * <p>They are merged into the matrices of a folder's model as {@link io.multihead.decoder.LoadOptions#withAdapter} has it, and the sums are
     * rounded to the format afterwards. A GGUF file and static embeddings are refused.
     *
     * @param folder with {@code adapter_config.json} and {@code adapter_model.safetensors}, or null for none
     */
    public EncoderLoadOptions withAdapter(@Nullable Path folder) {
        return new EncoderLoadOptions(format, folder);
    }

    Loading begin(Compute cpu) throws IOException {
        return Loading.of(cpu, format, adapter);
    }
}
