package io.multihead.internal.encoder.layer;

import io.multihead.internal.load.PoolingSettings;
import io.multihead.model.Pooling;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The conversion of the vectors of tokens to one vector.
 *
 * @param modes the poolings whose vectors are concatenated
 * @param includesPrompt whether the tokens of a prompt are included
 */
public record PoolingConfig(List<Pooling> modes, boolean includesPrompt) {
    /** The pooling of a folder without a Pooling module. */
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

    /** Returns the pooling of a module, or the default if there is no module. */
    public static PoolingConfig of(@Nullable PoolingSettings module) {
        return module == null
                ? DEFAULT
                : new PoolingConfig(module.modes().stream().map(MODES::get).toList(), module.includesPrompt());
    }
}
