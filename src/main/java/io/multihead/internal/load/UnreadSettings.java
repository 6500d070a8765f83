package io.multihead.internal.load;

import io.multihead.format.Gguf;
import io.multihead.format.GgufValue;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.function.Predicate;

/** Settings of a GGUF file's architecture that no family reads. */
public final class UnreadSettings {
    private UnreadSettings() {}

    /** Fails unless a value is absent or has no effect; numbers may be integers or reals. */
    public static void requireNeutral(Gguf file, String key, Object neutral) {
        GgufValue value = file.find(key).orElse(null);
        if (value == null) {
            return;
        }
        boolean isNeutral = neutral instanceof Boolean flag
                ? value.bool() == flag
                : (value.type().isInteger() ? value.integer() : value.real()) == (Integer) neutral;
        if (!isNeutral) {
            throw file.fail(key, neutral + ", or none");
        }
    }

    /**
     * Logs a warning about unknown settings: other engines may compute something else because of them.
     *
     * @param place the file's path
     * @param isKnown receives the key without the architecture's prefix
     */
    public static void warn(Gguf file, Object place, String architecture, Predicate<String> isKnown) {
        String begin = architecture + ".";
        List<String> unknown = file.keys().stream()
                .filter(key -> key.startsWith(begin) && !isKnown.test(key.substring(begin.length())))
                .map(key -> key + " (" + file.value(key) + ")")
                .toList();
        if (!unknown.isEmpty()) {
            System.getLogger("io.multihead")
                    .log(
                            Level.WARNING,
                            place + ": settings that are not known and not read: " + String.join(", ", unknown));
        }
    }
}
