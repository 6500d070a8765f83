package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.load.Loading;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Options of loading an encoder of any kind. Immutable and thread-safe.
 *
 * @param format the format to which matrices and the word embedding table are rounded; null for the stored
 *     format
 * @param adapter the folder of adapters that are merged into the model; null for none
 */
public record EncoderLoadOptions(
        @Nullable WeightFormat format, @Nullable Path adapter) {
    /** Weights in their stored format, without adapters. */
    public static final EncoderLoadOptions DEFAULT = new EncoderLoadOptions(null, null);

    /**
     * {@return these options with matrices and the word embedding table in a format}. Q8_0 takes 0.27 of the memory of f32; bf16 and f16
     * take half. Other tables, biases and norms are not rounded.
     *
     * @param newFormat the format of the weights, or null for the stored format
     */
    public EncoderLoadOptions withFormat(@Nullable WeightFormat newFormat) {
        return new EncoderLoadOptions(newFormat, adapter);
    }

    /**
     * {@return these options with low-rank adapters that PEFT or {@code io.multihead.train.LoraAdapter} wrote}
     *
     * <p>The adapters are merged into the matrices of a folder's model as in {@link io.multihead.decoder.LoadOptions#withAdapter}, and the sums
     * are then rounded to the format. A GGUF file and static embeddings are refused.
     *
     * @param folder a folder with {@code adapter_config.json} and {@code adapter_model.safetensors}, or null for none
     */
    public EncoderLoadOptions withAdapter(@Nullable Path folder) {
        return new EncoderLoadOptions(format, folder);
    }

    /** Loads a model from a path; if that fails, the memory of its weights is freed. */
    <T> T load(Compute cpu, Path path, Loader<T> loader) throws IOException {
        Loading loading = Loading.of(cpu, format, adapter);
        return EncoderCore.orClose(loading::close, () -> Downloads.withCommand(path, () -> loader.load(loading)));
    }

    /** A loader of a model. */
    @FunctionalInterface
    interface Loader<T> {
        T load(Loading loading) throws IOException;
    }
}
