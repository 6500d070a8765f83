package io.multihead.decoder;

import java.util.List;
import java.util.stream.Collectors;

/** The supported families of models. */
final class Families {
    private static final List<Family> ALL = List.of(
            new LlamaFamily(),
            new QwenFamily(),
            new GemmaFamily(),
            new Gemma4Family(),
            new SmolLm3Family(),
            new PhiFamily(),
            new GptOssFamily(),
            new GraniteFamily(),
            new GraniteHybridFamily(),
            new Lfm2Family(),
            new Qwen35Family());

    private Families() {}

    /** Returns the family of a model; fails if a setting requires a feature that no family here has. */
    static Family of(Settings settings) {
        String name = settings.family();
        Family known = ALL.stream()
                .filter(family -> family.names().contains(name))
                .findFirst()
                .orElseThrow(() ->
                        settings.fail("model_type", "one of " + names() + "; SentenceEncoder.load reads encoders"));
        settings.requireKnown();
        return known;
    }

    private static String names() {
        return ALL.stream().flatMap(family -> family.names().stream()).collect(Collectors.joining(", "));
    }
}
