package io.multihead.internal.load;

import io.multihead.internal.base.JsonObject;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Where a {@code config.json} has the settings of rotary positions: transformers 5 writes {@value #PARAMETERS}, earlier versions {@value #SCALING}. */
public final class RopeSettings {
    /** Also has the settings of each type of layer, where these differ. */
    public static final String PARAMETERS = "rope_parameters";

    private static final String SCALING = "rope_scaling";

    private RopeSettings() {}

    /** Returns the name of the member that has them, or would. */
    public static String name(JsonObject config) {
        return config.has(PARAMETERS) ? PARAMETERS : SCALING;
    }

    /** Returns the settings, or null where there are none; fails if both members are there and differ. */
    public static @Nullable JsonObject dictionary(JsonObject config) {
        if (config.has(PARAMETERS)
                && config.has(SCALING)
                && !Objects.equals(config.get(PARAMETERS), config.get(SCALING))) {
            throw config.fail(SCALING, "none beside " + PARAMETERS + ", or the same");
        }
        String name = name(config);
        return config.has(name) ? config.object(name) : null;
    }
}
