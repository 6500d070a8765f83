package io.multihead.jmh.report;

import java.util.List;
import java.util.Locale;

/** Kinds of processors by {@code cpuid}. One name stands for all models with the same cores. */
final class Processors {
    private static final String AMD = "AuthenticAMD";
    private static final String INTEL = "GenuineIntel";

    /** From AMD's and Intel's lists of models for server processors. */
    private static final List<Kind> KINDS = List.of(
            new Kind(AMD, 23, 0x30, 0x3f, "AMD Zen 2"),
            new Kind(AMD, 25, 0x00, 0x0f, "AMD Zen 3"),
            new Kind(AMD, 25, 0x10, 0x1f, "AMD Zen 4"),
            new Kind(AMD, 25, 0xa0, 0xaf, "AMD Zen 4"),
            new Kind(AMD, 26, 0x00, 0x1f, "AMD Zen 5"),
            new Kind(INTEL, 6, 0x55, 0x55, "Intel Skylake or Cascade Lake"),
            new Kind(INTEL, 6, 0x6a, 0x6a, "Intel Ice Lake"),
            new Kind(INTEL, 6, 0x8f, 0x8f, "Intel Sapphire Rapids"),
            new Kind(INTEL, 6, 0xcf, 0xcf, "Intel Emerald Rapids"),
            new Kind(INTEL, 6, 0xad, 0xad, "Intel Granite Rapids"));

    private Processors() {}

    private record Kind(String vendor, int family, int firstModel, int lastModel, String name) {}

    /** Returns the name of a kind, or the name of the processor if its kind is unknown. */
    static String name(String vendor, int family, int model, String modelName) {
        return KINDS.stream()
                .filter(kind -> kind.vendor.equals(vendor) && kind.family == family)
                .filter(kind -> kind.firstModel <= model && model <= kind.lastModel)
                .map(Kind::name)
                .findFirst()
                .orElse(modelName);
    }

    static String key(String name) {
        return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-").replaceAll("^-|-$", "");
    }
}
