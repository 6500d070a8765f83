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
                "%d layers of d_model %d, %d query heads on %d key heads, rotary positions, RMS norms, SiLU gates, and an embedding that "
                        + "is also the head: %,d numbers, trained for %d steps of AdamW on %d windows of %d tokens each from 9 of 10 of the %s. "
                        + "Tokens are the %d pieces that byte-level BPE finds in them. After training, the weights are rounded to bf16. "
                        + "Maps show the beginning of a held-out fable and, for each kind of target, the head with "
                        + "the largest share of its weight on it, if this share is at least %.2f. A dot is a space. The text below is the greedy continuation of its title. The table "
                        + "compares the text of the trained layers with the texts of io.multihead.decoder from files.",
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
        XYChart chart = Charts.smallLines("Loss on windows of the fables", "step", "nats per token", false);
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
        return at < 0 ? "the same" : "differs from token " + (at + 1) + " on";
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
                "The loss fell from %.2f to %.2f nats per token on training fables, and is %.2f on the other fables, %.2f bits per "
                        + "byte. Rounding to bf16 changed this loss by %.0e. %s puts %.2f of its weight on %s; even attention "
                        + "would put %.2f. The files in f32 and in bf16 give %s of %d tokens, %s. The logits of the best two "
                        + "tokens differ by at least %.1e.",
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
                asLayers ? "as in the layers" : "unlike the layers",
                computed.margin());
    }
}
