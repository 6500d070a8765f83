package io.multihead.internal.attention.keyvalue;

import io.multihead.internal.base.Checks;
import java.lang.invoke.MethodHandles;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Lets packages of the library create objects of the API's opaque types from their own memory, like the JDK's SharedSecrets: a {@code
 * KeyValueView} of a source, and {@code PackedSequences} that share an array. This package is below the API, whose classes
 * register their private constructors here when they are initialized.
 */
public final class KeyValueAccess {
    private static volatile @Nullable Function<KeyValueSource, ?> views;
    private static volatile @Nullable Function<long[], ?> sequences;

    private KeyValueAccess() {}

    /** Called once, by the static initializer of the view class. */
    public static void registerViews(Function<KeyValueSource, ?> constructor) {
        views = constructor;
    }

    /** Called once, by the static initializer of the class of packed sequences. */
    public static void registerSequences(Function<long[], ?> constructor) {
        sequences = constructor;
    }

    /** Returns a view of the source; its type is the class that registers here. */
    public static <V> V view(KeyValueSource source, Class<V> type) {
        if (views == null) {
            initialize(type);
        }
        return type.cast(Checks.notNull(views, "views").apply(source));
    }

    /** Returns packed sequences that share checked offsets, which may change between calls; the type is the class that registers here. */
    public static <V> V sequences(long[] offsets, Class<V> type) {
        if (sequences == null) {
            initialize(type);
        }
        return type.cast(Checks.notNull(sequences, "sequences").apply(offsets));
    }

    private static void initialize(Class<?> type) {
        try {
            MethodHandles.lookup().ensureInitialized(type);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("type: " + type + "; expected a public class of this module", e);
        }
    }
}
