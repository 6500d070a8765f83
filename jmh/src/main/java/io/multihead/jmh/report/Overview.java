package io.multihead.jmh.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * One chart for the README: the speeds of this library and of its peers, relative to this library, in a few cases of
 * each kind.
 */
final class Overview {
    private static final String OURS = "multihead";

    /** The peers of impls. If a case has several impls of a peer, the fastest one counts. */
    private static final Map<String, String> PEERS = Map.of(
            "onnxruntime", "ONNX Runtime",
            "onnxgqa", "ONNX Runtime",
            "onnxsingle", "ONNX Runtime",
            "onnxpadded", "ONNX Runtime",
            "pytorch", "PyTorch",
            "onednn", "oneDNN",
            "llamacpp", "llama.cpp",
            "jlama", "jlama",
            "reducelanes", "loops in Java",
            "scalar", "loops in Java");

    /** A case, and its name in the chart. */
    private record Shown(String label, Case of) {}

    private static final List<Shown> CASES = List.of(
            shown("decode, GQA", "AttentionDecode", Map.of("keyValueHeads", "8", "keys", "4096")),
            shown("decode", "AttentionDecode", Map.of("keyValueHeads", "32", "keys", "4096")),
            shown("attention, causal", "AttentionForward", Map.of("causal", "true", "shape", "1x8x2048x64")),
            shown("attention, full", "AttentionForward", Map.of("causal", "false", "shape", "1x8x2048x64")),
            shown("MiniLM", "Embeddings", Map.of("texts", "32x128")),
            shown("product, 1024", "Sgemm", Map.of("size", "1024")),
            shown("1B model, Q8_0", "Decoder", Map.of("model", "LLAMA3_1B", "format", "Q8_0", "depth", "128")));

    private Overview() {}

    private static Shown shown(String label, String benchmark, Map<String, String> parameters) {
        Map<String, String> all = new TreeMap<>(parameters);
        all.put("threads", "1");
        return new Shown(label, new Case(benchmark, all));
    }

    static Optional<Charts.Picture> of(Study study) {
        List<Chart.Group> groups = new ArrayList<>();
        for (Shown shown : CASES) {
            Map<String, Double> speeds = speeds(study.results()
                    .benchmarks
                    .getOrDefault(shown.of().benchmark(), Map.of())
                    .getOrDefault(shown.of(), Map.of()));
            if (speeds.size() > 1) {
                groups.add(new Chart.Group(shown.label(), speeds));
            }
        }
        String title = "Speed as a part of this library's, " + study.name()
                + ", 1 thread; longer is faster, line: this library";
        Chart chart = new Chart(title, groups, 1, speed -> Tables.number("%.2f", speed), OURS::equals);
        return groups.isEmpty() ? Optional.empty() : Optional.of(new Charts.Picture("overview", chart));
    }

    /**
     * Returns the speed of each peer relative to this library: the median over rounds in which both were measured. The
     * map is empty without a measurement of this library.
     */
    static Map<String, Double> speeds(Map<String, Result> impls) {
        Map<String, Double> speeds = new LinkedHashMap<>();
        Result ours = impls.get(OURS);
        if (ours == null) {
            return speeds;
        }
        speeds.put(OURS, 1.0);
        new TreeMap<>(impls).forEach((impl, result) -> {
            double ratio = Results.overFastest(List.of(ours), result).median();
            if (PEERS.containsKey(impl) && !Double.isNaN(ratio)) {
                speeds.merge(PEERS.get(impl), ratio, Math::max);
            }
        });
        return speeds;
    }
}
