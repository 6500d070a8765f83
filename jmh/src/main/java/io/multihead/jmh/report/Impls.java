package io.multihead.jmh.report;

import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** Which impls are this library's own, and the order in which tables and charts have them. */
final class Impls {
    /** Benchmarks of this library only: variants compared with each other. */
    private static final Set<String> VARIANTS = Set.of("BackwardOptions", "DecodeBatch", "PrefillOptions");

    /** Ours, then native peers, then those in Java. */
    private static final List<String> KNOWN =
            List.of(("multihead packed materializing paged bf16 f16 i8 mixed alone plain "
                            + "onnxruntime onnxruntime-8bit onnxgqa onnxpadded onnxsingle langchain4j onnxint8 crate djlbert onednn openblas pytorch jlama jlama-8bit vectorops reducelanes loops scalar")
                    .split(" "));

    /** This library put together otherwise, or after other calls, which is compared with the same call alone. */
    private static final Set<String> OTHERWISE =
            Set.of("packed", "materializing", "paged", "bf16", "f16", "i8", "i8blocks", "mixed");

    /** Work that differs from the others': int8 weights, inputs rounded to 8 bits, and a call without a tokenizer. */
    private static final Set<String> OTHER_WORK = Set.of("onnxint8", "multiheadids", "onnxruntime-8bit", "jlama-8bit");

    private Impls() {}

    static boolean ours(String benchmark, String impl) {
        return VARIANTS.contains(benchmark) || impl.startsWith("multihead") || OTHERWISE.contains(impl);
    }

    /** Returns whether an impl does the same work as the others, so that a ratio of times compares like with like. */
    static boolean comparable(String impl) {
        return !OTHER_WORK.contains(impl);
    }

    /** Order of impls; an unknown one is between peers in Java and the others, by name. */
    static Comparator<String> order() {
        int javaPeers = KNOWN.indexOf("jlama");
        return Comparator.comparingInt((String impl) -> {
                    int at = KNOWN.indexOf(impl);
                    return at >= 0 ? 2 * at : impl.startsWith("multihead") ? 1 : 2 * javaPeers - 1;
                })
                .thenComparing(Comparator.naturalOrder());
    }
}
