package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.encoder.SentenceEncoder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;

/** Exhibits about the tokens that the heads of the trained model attend to. */
final class TrainedHeadExhibits {
    private static final int DRAWN = 12;

    private final HeadSurvey sentence;
    private final HeadSurvey paragraph;

    TrainedHeadExhibits(SentenceEncoder encoder, StudyText text) {
        paragraph = new HeadSurvey(encoder.attention(text.paragraph()));
        sentence = new HeadSurvey(encoder.attention(text.sentence()));
    }

    /** Returns the exhibit with pictures of the most distinctive heads. */
    Exhibit heatMaps() {
        Map<Integer, String> chosen = HeadChoice.of(sentence, DRAWN);
        List<Exhibit.Picture> charts = new ArrayList<>();
        chosen.forEach((head, measured) -> charts.add(WeightMap.attention(
                "trained-head-" + (head / sentence.headsOfLayer() + 1) + "-" + (head % sentence.headsOfLayer() + 1),
                HeadExhibits.capital(sentence.name(head)),
                measured,
                sentence.tokens().stream().map(StudyText::label).toList(),
                sentence.weights(head))));
        return new Exhibit(
                format("What %d of the %d heads of a trained model attend to", chosen.size(), sentence.heads()),
                format(
                        "%s, %d layers of %d heads, reads the first sentence of the paragraph. A row shows the attention weights "
                                + "of one token, which sum to 1. Titles state the measurements. A share is the mean over the "
                                + "tokens with such a target. The heads were chosen by these numbers: lowest and highest entropy, "
                                + "then the lowest cosine to all other heads, then for each of %d patterns the head with the largest "
                                + "share of its weight on it, and the second one, if the share is at least %.2f. Each "
                                + "picture has a separate color scale below it. The table has the best head of each pattern, on this "
                                + "sentence and on the whole paragraph. Its last two columns are for the paragraph.",
                        TrainedModel.NAME,
                        sentence.layers(),
                        sentence.headsOfLayer(),
                        Pattern.values().length,
                        HeadChoice.LEAST),
                charts,
                table(),
                finding());
    }

    private List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of(
                "share of a head's weight on",
                "largest for",
                "in the sentence",
                "in the paragraph",
                "mean of all heads",
                "even attention"));
        for (Pattern pattern : Pattern.values()) {
            int head = Values.largest(sentence.heads(), h -> sentence.share(h, pattern));
            rows.add(List.of(
                    pattern.target,
                    sentence.name(head),
                    format("%.2f", sentence.share(head, pattern)),
                    format("%.2f", paragraph.share(head, pattern)),
                    format("%.2f", mean(pattern)),
                    format("%.2f", paragraph.chance(pattern))));
        }
        return rows;
    }

    private String finding() {
        int previous = Values.largest(paragraph.heads(), h -> paragraph.share(h, Pattern.PREVIOUS));
        int next = Values.largest(paragraph.heads(), h -> paragraph.share(h, Pattern.NEXT));
        return format(
                "In the whole paragraph of %d tokens, %s puts %.2f of its weight on the previous token and %s %.2f on the next one; "
                        + "the mean over all heads puts %.2f on [CLS], which even attention would give %.2f, and %.2f on [SEP].",
                paragraph.tokens().size(),
                paragraph.name(previous),
                paragraph.share(previous, Pattern.PREVIOUS),
                paragraph.name(next),
                paragraph.share(next, Pattern.NEXT),
                mean(Pattern.FIRST),
                paragraph.chance(Pattern.FIRST),
                mean(Pattern.LAST));
    }

    private double mean(Pattern pattern) {
        return IntStream.range(0, paragraph.heads())
                .mapToDouble(head -> paragraph.share(head, pattern))
                .average()
                .orElse(0);
    }

    /** Returns the exhibit of entropy, diversity and patterns by layer. */
    Exhibit byLayer() {
        int layers = paragraph.layers();
        double[] x = IntStream.rangeClosed(1, layers).asDoubleStream().toArray();
        double[] entropy = layers(layer -> paragraph.mean(layer, paragraph::entropy));
        double[] diversity = layers(paragraph::diversity);
        XYChart bits = Charts.smallLines("Entropy of a layer's heads", "layer", "bits per token", false);
        Charts.line(bits, "mean", x, entropy, false);
        Charts.line(bits, "lowest", x, layers(layer -> extreme(layer, false)), false);
        Charts.line(bits, "highest", x, layers(layer -> extreme(layer, true)), false);
        double even = Math.log(paragraph.tokens().size()) / Math.log(2);
        Charts.line(bits, "even", new double[] {1, layers}, new double[] {even, even}, true);
        XYChart unlike =
                Charts.smallLines("Diversity: 1 minus the mean cosine of two heads", "layer", "diversity", false);
        Charts.line(unlike, "diversity", x, diversity, false);
        unlike.getStyler().setYAxisMax(1.0);
        XYChart shares = Charts.smallLines("Targets of a layer's weight", "layer", "share, mean of its heads", true);
        for (Pattern pattern : List.of(
                Pattern.FIRST,
                Pattern.LAST,
                Pattern.PREVIOUS,
                Pattern.NEXT,
                Pattern.ITSELF,
                Pattern.SAME_WORD,
                Pattern.PUNCTUATION)) {
            Charts.line(
                    shares,
                    pattern.target,
                    x,
                    layers(layer -> paragraph.mean(layer, head -> paragraph.share(head, pattern))),
                    false);
        }
        int sharpest = Values.largest(layers, layer -> -entropy[layer]);
        int diverse = Values.largest(layers, layer -> diversity[layer]);
        int alike = Values.largest(layers, layer -> -diversity[layer]);
        return new Exhibit(
                "Diversity and entropy of the trained heads, by layer",
                format(
                        "%s on the whole paragraph, %d tokens. Entropy is %.2f bits if a token attends to all tokens equally. Diversity is 0 "
                                + "if all heads of a layer attend alike. For comparison, the exhibits below show an untrained layer.",
                        TrainedModel.NAME, paragraph.tokens().size(), even),
                List.of(
                        entropies(),
                        Charts.draw("trained-entropy-by-layer", bits),
                        Charts.draw("trained-diversity", unlike),
                        Charts.draw("trained-patterns", shares)),
                format(
                        "Heads are sharpest in layer %d (%.2f bits per token on average). They differ most in layer %d (diversity %.2f) and "
                                + "least in layer %d (%.2f).",
                        sharpest + 1, entropy[sharpest], diverse + 1, diversity[diverse], alike + 1, diversity[alike]));
    }

    private Exhibit.Picture entropies() {
        double[][] values = new double[paragraph.layers()][paragraph.headsOfLayer()];
        for (int head = 0; head < paragraph.heads(); head++) {
            values[head / paragraph.headsOfLayer()][head % paragraph.headsOfLayer()] = paragraph.entropy(head);
        }
        return WeightMap.heads("trained-entropy", "Entropy of every head", "bits per token", values, "%.1f");
    }

    private double[] layers(IntToDoubleFunction value) {
        return IntStream.range(0, paragraph.layers()).mapToDouble(value).toArray();
    }

    private double extreme(int layer, boolean highest) {
        int from = layer * paragraph.headsOfLayer();
        int head = Values.largest(paragraph.headsOfLayer(), h -> (highest ? 1 : -1) * paragraph.entropy(from + h));
        return paragraph.entropy(from + head);
    }
}
