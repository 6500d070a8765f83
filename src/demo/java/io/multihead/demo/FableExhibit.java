package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.demo.FableModel.Computed;
import io.multihead.demo.FableModel.Written;
import io.multihead.demo.llama.Llama;
import io.multihead.demo.llama.LlamaFile.Weights;
import io.multihead.demo.llama.LlamaTraining;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * The exhibit of the Llama that the study trains on fables: its loss, the tokens that its heads attend to, and its text from several files.
 */
final class FableExhibit {
    private static final int PIECES = 30;

    private final FableModel fables;
    private final LlamaTraining.Trained trained;
    private final CausalPattern.Text text;
    private final List<String> names = new ArrayList<>();
    private final List<double[][]> heads = new ArrayList<>();
    private final Computed computed;
    private final Map<Weights, Written> written;

    private FableExhibit(FableModel fables, Path folder) throws IOException {
        this.fables = fables;
        trained = fables.trained();
        int[] all = fables.tokenizer().encode(fables.unseen());
        int[] tokens = Arrays.copyOf(all, Math.min(PIECES, all.length));
        text = new CausalPattern.Text(tokens, fables.begins(tokens));
        int layer = 0;
        for (Tensor weights : fables.weights(tokens)) {
            layer++;
            for (int head = 0; head < weights.dim(0); head++) {
                names.add("layer " + layer + " head " + (head + 1));
                heads.add(Values.matrix(weights.select(0, head)));
            }
        }
        computed = fables.computed();
        written = fables.written(folder);
    }

    /** Draws the exhibit, and saves the model in the folder. */
    static Exhibit draw(FableModel fables, Path folder) throws IOException {
        return new FableExhibit(fables, folder).exhibit();
    }

    private Exhibit exhibit() {
        List<Exhibit.Picture> charts = new ArrayList<>();
        charts.add(Charts.draw("fables-loss", losses()));
        chosen().forEach((head, measured) -> charts.add(WeightMap.attention(
                "fables-head-" + (head + 1), names.get(head), measured, fables.pieces(text.ids()), heads.get(head))));
        return new Exhibit(
                "A Llama trained on fables, and its text from several files",
                caption(),
                charts,
                table(),
                sample(),
                finding());
    }

    private String caption() {
        Llama.Config config = trained.model().config();
        return format(
                "%d layers of d_model %d, %d query heads on %d key heads, rotary positions, RMS norms, SiLU gates, and a head that "
                        + "is the embedding: %,d numbers, trained for %d steps of AdamW on %d windows of %d tokens each from 9 of 10 of the %s. "
                        + "Tokens are the %d pieces that byte-level BPE finds in them. After training the weights are rounded to bf16. "
                        + "Maps show the beginning of a fable that was held out, and of each kind of target the head with "
                        + "the largest share of its weight on it, if that is at least %.2f; a dot is a space. The text below goes on greedily after its title; the table "
                        + "compares it as the layers that were trained compute it and as io.multihead.decoder does, from files.",
                config.layers(),
                config.dim(),
                config.heads(),
                config.keyValueHeads(),
                trained.model().size(),
                trained.losses().size(),
                LlamaTraining.BATCH,
                LlamaTraining.LENGTH,
                Fables.SOURCE,
                config.vocabulary(),
                HeadChoice.LEAST);
    }

    private XYChart losses() {
        XYChart chart = Charts.smallLines("Loss on windows of the fables", "step", "nats a token", false);
        chart.getStyler().setXAxisMin(0.0);
        int steps = trained.losses().size();
        double[][] curve = TrainingExhibits.curve(trained.losses());
        Charts.line(chart, "seen", curve[0], curve[1], false).setMarker(SeriesMarkers.NONE);
        Charts.line(
                chart,
                "held out, at the end",
                new double[] {1, Math.max(2, steps)},
                new double[] {trained.heldOut(), trained.heldOut()},
                true);
        return chart;
    }

    /** Returns the best head of each pattern with its measurements, in the order of the layers. */
    private Map<Integer, String> chosen() {
        Map<Integer, String> measured = new java.util.TreeMap<>();
        for (CausalPattern pattern : CausalPattern.values()) {
            int head = best(pattern);
            if (share(pattern, head) < HeadChoice.LEAST) {
                continue;
            }
            measured.merge(head, format("%.2f on %s", share(pattern, head), pattern.target), (a, b) -> a + ", " + b);
        }
        return measured;
    }

    private int best(CausalPattern pattern) {
        return Values.largest(heads.size(), head -> share(pattern, head));
    }

    /** Returns the pattern with the best head that differs most from even attention, as a ratio. */
    private CausalPattern strongest() {
        return Arrays.stream(CausalPattern.values())
                .filter(pattern -> pattern.chance(text) > 0)
                .max(Comparator.comparingDouble(pattern -> share(pattern, best(pattern)) / pattern.chance(text)))
                .orElseThrow();
    }

    private double share(CausalPattern pattern, int head) {
        return pattern.share(text, heads.get(head));
    }

    private List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of(
                "weights", "bytes of the file", "tokens", "its text", "largest difference of the first logits"));
        rows.add(List.of("its layers, f32", "–", String.valueOf(computed.tokens().length), "as above", "–"));
        written.forEach((weights, greedy) -> rows.add(List.of(
                "GGUF, " + weights.name().toLowerCase(java.util.Locale.ROOT).replace("q8", "Q8"),
                format("%,d", greedy.bytes()),
                String.valueOf(greedy.tokens().length),
                comparison(greedy.tokens()),
                format("%.1e", difference(greedy.logits())))));
        return rows;
    }

    private String comparison(int[] other) {
        int at = Arrays.mismatch(computed.tokens(), other);
        return at < 0 ? "the same" : "another from token " + (at + 1) + " on";
    }

    private double difference(float[] logits) {
        double most = 0;
        for (int i = 0; i < logits.length; i++) {
            most = Math.max(most, Math.abs(logits[i] - computed.logits()[i]));
        }
        return most;
    }

    private String sample() {
        String greedy = fables.tokenizer().decode(computed.tokens());
        return "<blockquote class=\"sample\"><b>" + Page.escape(FableModel.PROMPT) + "</b>" + Page.escape(greedy)
                + "</blockquote>";
    }

    private String finding() {
        boolean same = Arrays.equals(
                written.get(Weights.F32).tokens(), written.get(Weights.BF16).tokens());
        boolean asLayers =
                Arrays.equals(computed.tokens(), written.get(Weights.F32).tokens());
        CausalPattern strongest = strongest();
        List<Double> losses = trained.losses();
        return format(
                "The loss fell from %.2f to %.2f nats a token on fables that it has seen, and is %.2f on the others, %.2f bits a "
                        + "byte. Rounding to bf16 changed the latter by %.0e. %s puts %.2f of its weight on %s, even attention "
                        + "would put %.2f. From f32 and from bf16 the files give %s of %d tokens, %s; the best two "
                        + "logits are %.1e apart at least.",
                losses.get(0),
                losses.get(losses.size() - 1),
                trained.heldOut(),
                trained.heldOutBits(),
                Math.abs(trained.heldOut() - trained.unrounded()),
                HeadExhibits.capital(names.get(best(strongest))),
                share(strongest, best(strongest)),
                strongest.target,
                strongest.chance(text),
                same ? "the same text" : "different texts",
                written.get(Weights.F32).tokens().length,
                asLayers ? "that of the layers" : "which is not that of the layers",
                computed.margin());
    }
}
