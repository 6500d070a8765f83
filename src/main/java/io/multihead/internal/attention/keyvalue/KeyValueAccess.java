package io.multihead.internal.attention.keyvalue;

import io.multihead.internal.base.Checks;
import java.lang.invoke.MethodHandles;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Lets packages of the library make an opaque {@code KeyValueView} of a source of their own, as the JDK's SharedSecrets do: this
 * package is below the API, whose view class registers its private constructor here when it is initialised.
 */
public final class KeyValueAccess {
    private static volatile @Nullable Function<KeyValueSource, ?> constructor;

    private KeyValueAccess() {}

    /** Called once, by the static initialiser of the view class. */
    public static void register(Function<KeyValueSource, ?> newConstructor) {
        constructor = newConstructor;
    }

    /** Returns a view of the source; the type is the one that registers here. */
    public static <V> V view(KeyValueSource source, Class<V> type) {
        if (constructor == null) {
            try {
                MethodHandles.lookup().ensureInitialized(type);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException("type: " + type + "; expected a public class of this module", e);
            }
        }
        return type.cast(Checks.notNull(constructor, "constructor").apply(source));
    }
}
