package io.multihead.demo;

import io.multihead.analysis.HeadStatistics;
import io.multihead.attention.Mask;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;

/** Exhibits about the tokens that heads attend to. */
final class HeadExhibits {
    private final Subject sentence;
    private final Tensor weights;
    private final HeadStatistics statistics;

    HeadExhibits(Subject paragraph) {
        sentence = paragraph.firstSentence();
        weights = sentence.weights(Subject.HEADS, Mask.NONE);
        statistics = HeadStatistics.of(weights);
    }

    /** Returns exhibit 1. */
    Exhibit heatMaps() {
        double most = most(weights);
        double[] entropy = statistics.entropy();
        List<Exhibit.Picture> charts = new ArrayList<>();
        for (int h = 0; h < Subject.HEADS; h++) {
            String bits = format("%.2f bits of entropy", entropy[h]);
            charts.add(map("head-" + (h + 1), "Head " + (h + 1), bits, Values.matrix(weights.select(0, h)), most));
        }
        int sharpest = Values.largest(entropy.length, head -> -entropy[head]);
        int flattest = Values.largest(entropy.length, head -> entropy[head]);
        String finding = format(
                "Head %d is the sharpest with %.2f bits of entropy per token and head %d the flattest with %.2f, of at most %.2f "
                        + "bits for %d tokens.",
                sharpest + 1,
                entropy[sharpest],
                flattest + 1,
                entropy[flattest],
                Math.log(sentence.tokens().size()) / Math.log(2),
                sentence.tokens().size());
        return new Exhibit(
                "Attention of every head of an untrained layer",
                "Rows are queries, columns the keys they look at; one color scale for all heads. The layer is untrained: its "
                        + "weights are drawn from the seed.",
                charts,
                finding);
    }

    /** Returns exhibit 2. */
    Exhibit againstSingleHead() {
        Tensor single = sentence.weights(1, Mask.NONE);
        double[][] mean = new double[sentence.tokens().size()][sentence.tokens().size()];
        for (int h = 0; h < Subject.HEADS; h++) {
            double[][] head = Values.matrix(weights.select(0, h));
            for (int i = 0; i < mean.length; i++) {
                for (int j = 0; j < mean.length; j++) {
                    mean[i][j] += head[i][j] / Subject.HEADS;
                }
            }
        }
        double most = Math.max(most(single), WeightMap.most(mean));
        double[] deviation = statistics.deviationAcrossHeads();
        double[] positions =
                IntStream.range(0, deviation.length).asDoubleStream().toArray();
        XYChart spread = Charts.smallLines(
                "Standard deviation across the 8 heads", "position of the query token", "deviation of a weight", false);
        Charts.line(spread, "deviation", positions, deviation, false);
        double average = Arrays.stream(deviation).average().orElse(0);
        double[] flat = new double[deviation.length];
        Arrays.fill(flat, average);
        Charts.line(spread, "average", positions, flat, true);
        double entropy = HeadStatistics.of(single).entropy()[0];
        return new Exhibit(
                "Eight heads against one",
                "The same 64 features in one head of 64 and in eight heads of 8, whose weights are averaged on the right.",
                List.of(
                        map("single-head", "One head", "of 64 features", Values.matrix(single.select(0, 0)), most),
                        map("mean-of-heads", "Mean of eight heads", "of 8 features each", mean, most),
                        Charts.draw("deviation", spread)),
                format(
                        "A weight differs by %.4f (standard deviation) from head to head, %.0f %% of the mean weight %.4f; the "
                                + "single head has %.2f bits of entropy, the eight heads %.2f on average.",
                        average,
                        100 * average * deviation.length,
                        1.0 / deviation.length,
                        entropy,
                        Arrays.stream(statistics.entropy()).average().orElse(0)));
    }

    /** Returns exhibit 3. */
    Exhibit diversity() {
        double[][] cosine = statistics.cosineSimilarity();
        int[] alike = {0, 1};
        int[] different = {0, 1};
        double sum = 0;
        for (int a = 0; a < cosine.length; a++) {
            for (int b = a + 1; b < cosine.length; b++) {
                sum += cosine[a][b];
                alike = cosine[a][b] > cosine[alike[0]][alike[1]] ? new int[] {a, b} : alike;
                different = cosine[a][b] < cosine[different[0]][different[1]] ? new int[] {a, b} : different;
            }
        }
        int pairs = cosine.length * (cosine.length - 1) / 2;
        return new Exhibit(
                "Diversity of heads",
                "The cosine of the angle between the weight matrices of two heads: 1 if both have the same weights.",
                List.of(WeightMap.pairs("diversity", "Cosine similarity of heads", "1: alike", cosine, "%.2f")),
                format(
                        "Heads %d and %d are most alike (%.3f), heads %d and %d differ most (%.3f); the mean over %d pairs is %.3f.",
                        alike[0] + 1,
                        alike[1] + 1,
                        cosine[alike[0]][alike[1]],
                        different[0] + 1,
                        different[1] + 1,
                        cosine[different[0]][different[1]],
                        pairs,
                        sum / pairs));
    }

    /** Returns exhibit 4. */
    Exhibit causal() {
        Tensor masked = sentence.weights(Subject.HEADS, Mask.CAUSAL);
        double worst = 0;
        double above = 0;
        for (int h = 0; h < Subject.HEADS; h++) {
            double[][] head = Values.matrix(masked.select(0, h));
            for (int i = 0; i < head.length; i++) {
                worst = Math.max(worst, Math.abs(1 - Arrays.stream(head[i]).sum()));
                above = Math.max(
                        above, Arrays.stream(head[i], i + 1, head.length).max().orElse(0));
            }
        }
        double[][] first = Values.matrix(masked.select(0, 0));
        return new Exhibit(
                "Causal masking",
                "Each token sees itself and the tokens before it.",
                List.of(map("causal", "Head 1, causal", format("row sums are 1 within %.1e", worst), first, 1)),
                format(
                        "Over all eight heads the largest weight above the diagonal is %s, and row sums differ from 1 by at most %.1e.",
                        above == 0 ? "exactly 0" : format("%.1e", above), worst));
    }

    private Exhibit.Picture map(String file, String name, String measured, double[][] values, double most) {
        return WeightMap.attention(file, name, measured, sentence.tokens(), values, most);
    }

    private static double most(Tensor weights) {
        float[] all =
                weights.copy(java.lang.foreign.Arena.ofAuto(), weights.dtype()).toArray();
        return IntStream.range(0, all.length).mapToDouble(i -> all[i]).max().orElse(1);
    }

    static String capital(String text) {
        return text.substring(0, 1).toUpperCase(Locale.ROOT) + text.substring(1);
    }

    static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }
}
