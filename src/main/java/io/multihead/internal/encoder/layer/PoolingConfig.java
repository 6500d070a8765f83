package io.multihead.internal.encoder.layer;

import io.multihead.internal.load.PoolingSettings;
import io.multihead.model.Pooling;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How the vectors of tokens become one.
 *
 * @param modes whose vectors are put one after another
 * @param includesPrompt whether the tokens of a prompt count
 */
public record PoolingConfig(List<Pooling> modes, boolean includesPrompt) {
    /** Where there is no Pooling module. */
    public static final PoolingConfig DEFAULT = new PoolingConfig(List.of(Pooling.MEAN), true);

    private static final Map<String, Pooling> MODES = Map.of(
            PoolingSettings.CLS,
            Pooling.CLS,
            PoolingSettings.MEAN,
            Pooling.MEAN,
            PoolingSettings.LAST,
            Pooling.LAST,
            "max",
            Pooling.MAX,
            "mean_sqrt_len_tokens",
            Pooling.MEAN_SQRT_LEN,
            "weightedmean",
            Pooling.WEIGHTED_MEAN);

    /** Returns the pooling of a module, or the default without one. */
    public static PoolingConfig of(@Nullable PoolingSettings module) {
        return module == null
                ? DEFAULT
                : new PoolingConfig(module.modes().stream().map(MODES::get).toList(), module.includesPrompt());
    }
}
