package io.multihead.jmh.report;

import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** The impls of this library, and the order of impls in tables and charts. */
final class Impls {
    /** Benchmarks of this library only: variants compared with each other. */
    private static final Set<String> VARIANTS = Set.of("BackwardOptions", "DecodeBatch", "PrefillOptions");

    /** The order: this library's impls, then native peers, then peers in Java. */
    private static final List<String> KNOWN =
            List.of(("multihead packed materializing paged bf16 f16 i8 mixed alone plain "
                            + "onnxruntime onnxruntime-8bit onnxgqa onnxpadded onnxsingle langchain4j onnxint8 crate djlbert onednn openblas pytorch jlama jlama-8bit vectorops reducelanes loops scalar")
                    .split(" "));

    /** Impls of this library in another form, or after other calls. They are compared with the usual call. */
    private static final Set<String> OTHERWISE =
            Set.of("packed", "materializing", "paged", "bf16", "f16", "i8", "i8blocks", "mixed");

    /** Impls with other work: int8 weights, inputs rounded to 8 bits, or a call without a tokenizer. */
    private static final Set<String> OTHER_WORK = Set.of("onnxint8", "multiheadids", "onnxruntime-8bit", "jlama-8bit");

    private Impls() {}

    static boolean ours(String benchmark, String impl) {
        return VARIANTS.contains(benchmark) || impl.startsWith("multihead") || OTHERWISE.contains(impl);
    }

    /** Returns whether an impl does the same work as the others, so that a ratio of times is meaningful. */
    static boolean comparable(String impl) {
        return !OTHER_WORK.contains(impl);
    }

    /** Returns the order of impls. Unknown impls are between the other impls and peers in Java, ordered by name. */
    static Comparator<String> order() {
        int javaPeers = KNOWN.indexOf("jlama");
        return Comparator.comparingInt((String impl) -> {
                    int at = KNOWN.indexOf(impl);
                    return at >= 0 ? 2 * at : impl.startsWith("multihead") ? 1 : 2 * javaPeers - 1;
                })
                .thenComparing(Comparator.naturalOrder());
    }
}
