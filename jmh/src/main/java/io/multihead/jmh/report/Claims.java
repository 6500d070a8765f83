package io.multihead.jmh.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The comparison of this library with the best peer, with a line for each benchmark and for each of its cases. */
final class Claims {
    private static final String OURS = "multihead";
    private static final String BEST_PEERS = "best peers";

    /** The meaning of the names of benchmarks. */
    private static final Map<String, String> NAMES = Map.ofEntries(
            Map.entry("AttentionBackward", "attention, forward and backward"),
            Map.entry("AttentionDecode", "attention of one new token over a cache"),
            Map.entry("AttentionDecodeSampled", "attention of one new token over a cache, single calls"),
            Map.entry("AttentionForward", "attention of whole sequences"),
            Map.entry("Decoder", "a step of a language model"),
            Map.entry("Embeddings", "all-MiniLM-L6-v2, text to vectors"),
            Map.entry("FewRows", "a few rows by a matrix that is not packed"),
            Map.entry("Finetune", "a step of fine-tuning a sentence encoder"),
            Map.entry("FrozenGradient", "gradients through frozen packed weights"),
            Map.entry("Exponential", "the exponential of the softmax"),
            Map.entry("Layers", "layer normalization and GELU"),
            Map.entry("Linear", "rows by packed f32 weights"),
            Map.entry("MaxSim", "late interaction"),
            Map.entry("Merges", "text to ids of language models"),
            Map.entry("MultiHeadAttentionLayer", "a layer: projections and attention"),
            Map.entry("Prefill", "a prompt by a language model"),
            Map.entry("Rerank", "a cross-encoder's scores of passages"),
            Map.entry("Sgemm", "products of square matrices"),
            Map.entry("Softmax", "softmax of rows"),
            Map.entry("SoftmaxBackward", "gradient of the softmax"),
            Map.entry("Tokenizer", "text to ids of WordPiece"),
            Map.entry("TrainingStep", "forward and backward of four blocks"),
            Map.entry("WeightFormat", "rows by packed weights of each format"));

    private Claims() {}

    /** Returns a table with a line for each benchmark that has a verdict, and a column for each processor. */
    static String ofAll(Map<String, Study> studies, String folder) {
        Map<String, Map<String, String>> cells = new TreeMap<>();
        Map<String, Set<String>> peers = new TreeMap<>();
        studies.forEach((key, study) -> study.results().benchmarks.forEach((benchmark, cases) -> {
            String summary = summary(cases);
            if (!summary.isEmpty()) {
                cells.computeIfAbsent(benchmark, name -> new TreeMap<>())
                        .put(study.name(), "[%s](%s/%s/%s.md)".formatted(summary, folder, key, benchmark));
                peers.computeIfAbsent(benchmark, name -> new TreeSet<>(Impls.order()))
                        .addAll(bestPeers(cases.values()));
            }
        }));
        Map<String, Map<String, String>> rows = new LinkedHashMap<>();
        cells.forEach((benchmark, row) -> {
            row.put(BEST_PEERS, String.join(", ", peers.get(benchmark)));
            rows.put(name(benchmark), row);
        });
        List<String> columns = new ArrayList<>(List.of(BEST_PEERS));
        studies.values().forEach(study -> columns.add(study.name()));
        return Tables.grid("speed relative to the best peer", columns, rows)
                + "\nProcessors: "
                + studies.entrySet().stream()
                        .map(study ->
                                "[%s](%s/%s.md)".formatted(study.getValue().name(), folder, study.getKey()))
                        .collect(Collectors.joining(", "))
                + ".\n";
    }

    /** Returns a table with a line for each case of this library, with links to the benchmarks' pages. */
    static String of(Study study, String key) {
        List<List<String>> rows = new ArrayList<>();
        study.results().benchmarks.forEach((benchmark, cases) -> {
            String link = "[%s](%s/%s.md)".formatted(benchmark, key, benchmark);
            int before = rows.size();
            cases.forEach((of, impls) -> {
                Result ours = impls.get(OURS);
                Ratio ratio = ours == null ? Ratio.NONE : Results.overBestPeer(impls, ours);
                if (!ratio.verdict().isEmpty()) {
                    rows.add(List.of(
                            link,
                            of.label(),
                            String.join(", ", bestPeers(List.of(impls))),
                            Tables.number("%.2f", ratio.median()),
                            ratio.interval("%.2f"),
                            ratio.verdict()));
                }
            });
            if (rows.size() == before) {
                rows.add(List.of(link, "", "", "", "", ""));
            }
        });
        List<String> columns = List.of("benchmark", "case", "the best peer", "of its speed", "interval", "verdict");
        return Tables.markdown(columns, rows);
    }

    /**
     * Returns the lowest and highest ratio to the best peer, and the numbers of cases ahead, level and behind, or an
     * empty text if no ratio is known.
     */
    static String summary(Map<Case, Map<String, Result>> cases) {
        List<Ratio> ratios = cases.values().stream()
                .filter(impls -> impls.containsKey(OURS))
                .map(impls -> Results.overBestPeer(impls, impls.get(OURS)))
                .filter(ratio -> !ratio.verdict().isEmpty())
                .toList();
        if (ratios.isEmpty()) {
            return "";
        }
        if (ratios.size() == 1) {
            return String.format(Locale.ROOT, "%.2f: ", ratios.getFirst().median())
                    + ratios.getFirst().verdict();
        }
        double low = ratios.stream().mapToDouble(Ratio::median).min().orElseThrow();
        double high = ratios.stream().mapToDouble(Ratio::median).max().orElseThrow();
        Map<String, Integer> counts = new TreeMap<>(); // ahead, behind, level
        ratios.forEach(ratio -> counts.merge(ratio.verdict(), 1, Integer::sum));
        return String.format(Locale.ROOT, "%.2f to %.2f: ", low, high)
                + List.of("ahead", "level", "behind").stream()
                        .filter(counts::containsKey)
                        .map(verdict -> counts.get(verdict) + " " + verdict)
                        .collect(Collectors.joining(", "));
    }

    private static String name(String benchmark) {
        return NAMES.containsKey(benchmark) ? NAMES.get(benchmark) + " (`" + benchmark + "`)" : "`" + benchmark + "`";
    }

    /** Returns the peers that are the fastest in at least one case. */
    private static Set<String> bestPeers(Collection<Map<String, Result>> cases) {
        Set<String> peers = new TreeSet<>(Impls.order());
        for (Map<String, Result> impls : cases) {
            double best = Results.bestPeer(impls);
            impls.values().stream().filter(result -> result.time() == best).forEach(result -> peers.add(result.impl()));
        }
        return peers;
    }
}
