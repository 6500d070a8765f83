package io.multihead.jmh.report;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** One chart for the README: the speed of this library and of its peers, as a part of this library's, in a few cases of each kind. */
final class Overview {
    static final String NAME = "overview";

    private static final String OURS = "multihead";

    /** Impls of one peer, of which a case has some: the fastest counts. */
    private static final Map<String, String> PEERS = Map.of(
            "onnxruntime", "onnxruntime",
            "onnxgqa", "onnxruntime",
            "onnxsingle", "onnxruntime",
            "onnxpadded", "onnxruntime",
            "pytorch", "pytorch",
            "onednn", "onednn",
            "llamacpp", "llamacpp",
            "jlama", "jlama",
            "reducelanes", "loops in Java",
            "scalar", "loops in Java");

    private static final Map<String, String> NAMES =
            Map.of("onnxruntime", "ONNX Runtime", "pytorch", "PyTorch", "onednn", "oneDNN", "llamacpp", "llama.cpp");

    /** A case, and what the chart calls it. */
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

    /** Returns the chart, if some of its cases were measured. */
    static Optional<Charts.Picture> of(Study study) {
        List<String> labels = new ArrayList<>();
        SortedMap<String, List<Double>> bars = new TreeMap<>(Impls.order());
        List<Map<String, Double>> groups = new ArrayList<>();
        for (Shown shown : CASES) {
            Map<String, Result> impls = study.results()
                    .benchmarks
                    .getOrDefault(shown.of().benchmark(), Map.of())
                    .getOrDefault(shown.of(), Map.of());
            Map<String, Double> speeds = speeds(impls);
            if (speeds.size() > 1) {
                labels.add(shown.label());
                groups.add(speeds);
            }
        }
        for (int i = 0; i < groups.size(); i++) {
            for (Map.Entry<String, Double> speed : groups.get(i).entrySet()) {
                bars.computeIfAbsent(speed.getKey(), impl -> new ArrayList<>(Collections.nCopies(groups.size(), null)))
                        .set(i, speed.getValue());
            }
        }
        if (labels.isEmpty()) {
            return Optional.empty();
        }
        String title = "Speed as a part of this library's, " + study.name() + ", 1 thread";
        Chart chart = new Chart(
                new Chart.Labels(title, "", "longer is faster", labels, speed -> Tables.number("%.2f", speed)), 1);
        bars.forEach((impl, speeds) -> chart.bars(NAMES.getOrDefault(impl, impl), impl.equals(OURS), speeds));
        return Optional.of(new Charts.Picture(NAME, title, chart));
    }

    /** Returns the speed of each peer over ours: the median over rounds in which both were measured. Empty without ours. */
    static Map<String, Double> speeds(Map<String, Result> impls) {
        Map<String, Double> speeds = new TreeMap<>();
        Result ours = impls.get(OURS);
        if (ours == null) {
            return speeds;
        }
        speeds.put(OURS, 1.0);
        impls.forEach((impl, result) -> {
            List<Double> ratios = new ArrayList<>();
            ours.times().rounds().forEach((round, time) -> {
                Double peer = result.times().rounds().get(round);
                if (peer != null) {
                    ratios.add(time / peer);
                }
            });
            if (PEERS.containsKey(impl) && !ratios.isEmpty()) {
                speeds.merge(PEERS.get(impl), Ratio.of(ratios).median(), Math::max);
            }
        });
        return speeds;
    }
}
