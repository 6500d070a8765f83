package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.demo.train.PairModel.Pair;
import io.multihead.tensor.Tensor;
import io.multihead.train.BertCrossEncoder;
import io.multihead.train.BertLayers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Training pairs of texts, and held-out pairs of other groups.
 *
 * @param trained the training pairs
 * @param heldOut pairs of groups without training pairs
 */
record PairData(List<Pair> trained, List<Pair> heldOut) {
    /** Every third group is held out. */
    private static final int PART = 3;
    /** The minimum number of groups in a file: one group is held out, and a step needs two groups. */
    private static final int LEAST = 3;
    /** The number of texts that are embedded together, which limits the memory for files of many pairs. */
    private static final int TOGETHER = 32;

    /**
     * Returns the sentences of fables, each with the other sentences of its fable. Every third fable is held out.
     *
     * @param manyAnchors whether the training pairs have two sentences and titles as further anchors, because 34 fables have few sentences
     */
    static PairData fables(boolean manyAnchors) throws IOException {
        Fables fables = Fables.read();
        Map<String, List<String>> texts = new LinkedHashMap<>();
        for (int i = 0; i < fables.sentences().size(); i++) {
            texts.computeIfAbsent(fables.titles().get(i), _ -> new ArrayList<>())
                    .add(fables.sentences().get(i));
        }
        List<Pair> pairs = new ArrayList<>();
        List<Pair> more = new ArrayList<>();
        texts.forEach((title, sentences) -> {
            for (int i = 0; i < sentences.size(); i++) {
                String rest = without(sentences, i, 1);
                pairs.add(new Pair(title, sentences.get(i), rest, List.of()));
                more.add(new Pair(title, title, rest, List.of()));
                if (i + 1 < sentences.size() && sentences.size() > 2) {
                    String two = sentences.get(i) + " " + sentences.get(i + 1);
                    more.add(new Pair(title, two, without(sentences, i, 2), List.of()));
                }
            }
        });
        PairData data = divide(pairs);
        if (!manyAnchors) {
            return data;
        }
        List<String> groups = data.trained.stream().map(Pair::group).toList();
        return new PairData(
                Stream.concat(data.trained.stream(), more.stream().filter(pair -> groups.contains(pair.group())))
                        .toList(),
                data.heldOut);
    }

    private static String without(List<String> sentences, int from, int count) {
        List<String> rest = new ArrayList<>(sentences.subList(0, from));
        rest.addAll(sentences.subList(from + count, sentences.size()));
        return String.join(" ", rest);
    }

    /**
     * Reads lines with an anchor, its positive and optional hard negatives, separated by tabs. Lines with the same
     * positive are one group.
     */
    static PairData read(Path file) throws IOException {
        List<Pair> pairs = new ArrayList<>();
        List<String> lines = Files.readAllLines(file);
        for (int i = 0; i < lines.size(); i++) {
            String[] columns = lines.get(i).split("\t", -1);
            if (columns.length < 2) {
                throw new IllegalArgumentException(file + ": line " + (i + 1)
                        + ": no tab; expected an anchor and its positive, with a tab between them");
            }
            for (int column = 0; column < columns.length; column++) {
                if (columns[column].isBlank()) {
                    String name = column < 2 ? List.of("anchor", "positive").get(column) : "hard negative";
                    throw new IllegalArgumentException(
                            file + ": line " + (i + 1) + ": " + name + " without words; expected a text");
                }
            }
            pairs.add(new Pair(
                    columns[1], columns[0], columns[1], List.of(columns).subList(2, columns.length)));
        }
        int positives = numbers(pairs).size();
        if (positives < LEAST) {
            throw new IllegalArgumentException(file + ": " + positives
                    + " different positives; expected at least " + LEAST
                    + ": one is held out, and the others are each other's negatives");
        }
        return divide(pairs);
    }

    private static PairData divide(List<Pair> pairs) {
        Map<String, Integer> numbers = numbers(pairs);
        List<Pair> trained = new ArrayList<>();
        List<Pair> heldOut = new ArrayList<>();
        for (Pair pair : pairs) {
            (numbers.get(pair.group()) % PART == 0 ? heldOut : trained).add(pair);
        }
        return new PairData(List.copyOf(trained), List.copyOf(heldOut));
    }

    /** Returns the number of each group, in their order. */
    private static Map<String, Integer> numbers(List<Pair> pairs) {
        Map<String, Integer> numbers = new LinkedHashMap<>();
        pairs.forEach(pair -> numbers.putIfAbsent(pair.group(), numbers.size()));
        return numbers;
    }

    /**
     * Returns the share of held-out anchors with a positive that is nearer than the positives of all other groups,
     * including the training groups.
     */
    double recall(Compute cpu, BertLayers encoder) {
        List<List<String>> nearest = candidates(cpu, encoder, 1);
        int found = 0;
        for (int i = 0; i < heldOut.size(); i++) {
            found += nearest.get(i).getFirst().equals(heldOut.get(i).positive()) ? 1 : 0;
        }
        return (double) found / heldOut.size();
    }

    /**
     * Returns the share of held-out anchors with a positive that has the highest cross-encoder score of all their
     * {@link #candidates}.
     */
    double recall(Compute cpu, List<List<String>> candidates, BertCrossEncoder reranker) {
        int found = 0;
        for (int i = 0; i < heldOut.size(); i++) {
            List<String> texts = candidates.get(i);
            float[] scores = reranker.scores(
                    cpu, Collections.nCopies(texts.size(), heldOut.get(i).anchor()), texts);
            int own = texts.indexOf(heldOut.get(i).positive());
            boolean first = own >= 0;
            for (int other = 0; other < scores.length && first; other++) {
                first = other == own || scores[other] < scores[own];
            }
            found += first ? 1 : 0;
        }
        return (double) found / heldOut.size();
    }

    /**
     * Returns the {@code most} nearest texts of each held-out anchor, among its positive and the positives of all other
     * groups.
     */
    List<List<String>> candidates(Compute cpu, BertLayers encoder, int most) {
        Map<String, String> positives = new LinkedHashMap<>();
        heldOut.forEach(pair -> positives.putIfAbsent(pair.group(), pair.positive()));
        trained.forEach(pair -> positives.putIfAbsent(pair.group(), pair.positive()));
        List<String> groups = List.copyOf(positives.keySet());
        float[][] of = units(cpu, encoder, List.copyOf(positives.values()));
        float[][] anchors =
                units(cpu, encoder, heldOut.stream().map(Pair::anchor).toList());
        float[][] own = units(cpu, encoder, heldOut.stream().map(Pair::positive).toList());
        List<List<String>> all = new ArrayList<>();
        for (int i = 0; i < anchors.length; i++) {
            List<Candidate> found = new ArrayList<>();
            for (int group = 0; group < of.length; group++) {
                if (!groups.get(group).equals(heldOut.get(i).group())) {
                    found.add(new Candidate(positives.get(groups.get(group)), dot(anchors[i], of[group])));
                }
            }
            found.add(new Candidate(
                    heldOut.get(i).positive(), dot(anchors[i], own[i]))); // a tie puts it after other texts
            all.add(found.stream()
                    .sorted(Comparator.comparingDouble(Candidate::cosine).reversed())
                    .limit(most)
                    .map(Candidate::text)
                    .toList());
        }
        return all;
    }

    /** A text and its similarity. */
    private record Candidate(String text, double cosine) {}

    /** Returns the vectors of texts, divided by their lengths. */
    static float[][] units(Compute cpu, BertLayers encoder, List<String> texts) {
        float[][] units = new float[texts.size()][];
        for (int at = 0; at < units.length; at += TOGETHER) {
            List<String> part = texts.subList(at, Math.min(units.length, at + TOGETHER));
            Tensor vectors = encoder.embed(cpu, part);
            for (int i = 0; i < part.size(); i++) {
                units[at + i] = vectors.select(0, i).toArray();
            }
        }
        for (int i = 0; i < units.length; i++) {
            double length = Math.sqrt(dot(units[i], units[i]));
            for (int d = 0; d < units[i].length; d++) {
                units[i][d] /= (float) length;
            }
        }
        return units;
    }

    private static double dot(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }
}
