package io.multihead.internal.load;

import io.multihead.internal.base.JsonObject;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The location of the settings of rotary positions in a {@code config.json}: transformers 5 writes {@value #PARAMETERS}, and earlier
 * versions write {@value #SCALING}.
 */
public final class RopeSettings {
    /** The member that transformers 5 writes. It has the settings of each type of layer if these differ. */
    public static final String PARAMETERS = "rope_parameters";

    private static final String SCALING = "rope_scaling";

    private RopeSettings() {}

    /** Returns the name of the member with the settings, or the name that it would have. */
    public static String name(JsonObject config) {
        return config.has(PARAMETERS) ? PARAMETERS : SCALING;
    }

    /** Returns the settings, or null if there are none; fails if both members exist and differ. */
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
