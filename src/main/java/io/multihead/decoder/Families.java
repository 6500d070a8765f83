package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;
import java.util.stream.Collectors;

/** The families of models that are offered. */
final class Families {
    private static final List<Family> ALL =
            List.of(new LlamaFamily(), new QwenFamily(), new GemmaFamily(), new SmolLm3Family(), new PhiFamily());

    private Families() {}

    /**
     * Returns a family.
     *
     * @param name as files have it
     * @param key where it is from, for messages
     */
    static Family of(String name, String key) {
        return ALL.stream()
                .filter(family -> family.names().contains(name))
                .findFirst()
                .orElseThrow(() -> Checks.fail(key, "\"" + name + "\"", "expected one of " + names()));
    }

    private static String names() {
        return ALL.stream().flatMap(family -> family.names().stream()).collect(Collectors.joining(", "));
    }
}
