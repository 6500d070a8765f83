package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.analysis.HeadStatistics;
import io.multihead.demo.train.Task;
import io.multihead.demo.train.TokenModel;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.knowm.xchart.XYChart;

/** Exhibits about training with different numbers of heads. */
final class TrainingExhibits {
    static final int[] HEADS = {1, 2, 4, 8, 16};
    /** The number of points of a loss curve. Each point is the mean of consecutive steps. */
    private static final int POINTS = 40;

    /** The number of batches for accuracy in a whole study. It is smaller after fewer training steps. */
    private static final int TEST_BATCHES = 16;

    private final Trainings trainings;

    TrainingExhibits(Trainings trainings) {
        this.trainings = trainings;
    }

    /** Starts to train the models of a task, in the order of {@link #HEADS}. */
    static List<CompletableFuture<Trainings.Trained>> start(Trainings trainings, Task task) {
        return Arrays.stream(HEADS)
                .mapToObj(heads -> trainings.start(task, heads, 1))
                .toList();
    }

    /** The results of training one model. */
    private record Trained(int heads, List<Double> losses, double accuracy, double[] entropy, double difference) {}

    /** Returns the exhibit of loss curves, accuracy, entropy and difference of heads for one task. */
    Exhibit exhibit(Task task) {
        List<Trained> models = models(task);
        String name = task == Task.COPY ? "copy task" : "sequence classification";
        XYChart curves = Charts.lines("Loss on the " + name, "step", "cross-entropy, nats", false);
        curves.getStyler().setXAxisMin(0.0);
        for (Trained model : models) {
            double[][] curve = curve(model.losses);
            Charts.line(curves, "h = " + model.heads, curve[0], curve[1], false)
                    .setMarker(org.knowm.xchart.style.markers.SeriesMarkers.NONE);
        }
        String file = task.name().toLowerCase(java.util.Locale.ROOT);
        List<String> names = Arrays.stream(HEADS).mapToObj(h -> "h = " + h).toList();
        Map<String, double[]> entropy = new LinkedHashMap<>();
        entropy.put("mean", each(models, m -> Arrays.stream(m.entropy).average().orElse(0)));
        entropy.put(
                "sharpest head",
                each(models, m -> Arrays.stream(m.entropy).min().orElse(0)));
        entropy.put(
                "flattest head",
                each(models, m -> Arrays.stream(m.entropy).max().orElse(0)));
        List<List<String>> table = new ArrayList<>();
        table.add(List.of("heads", "final loss", "accuracy", "entropy of heads, bits", "difference of heads"));
        for (Trained model : models) {
            table.add(List.of(
                    String.valueOf(model.heads),
                    format("%.3f", tail(model.losses)),
                    format("%.1f %%", 100 * model.accuracy),
                    format("%.2f", Arrays.stream(model.entropy).average().orElse(0)),
                    model.heads == 1 ? "–" : format("%.2f", model.difference)));
        }
        return new Exhibit(
                "Training with 1 to 16 heads: " + name,
                caption(task),
                List.of(
                        Charts.draw(file + "-loss", curves),
                        Charts.draw(
                                file + "-entropy",
                                Charts.bars("Entropy of attention after training", "", "bits", names, entropy))),
                table,
                finding(models));
    }

    private String caption(Task task) {
        Task.Sizes sizes = Trainings.sizes(task);
        String what = task == Task.COPY
                ? format("predict the second half of %d tokens, which repeats the first", sizes.length())
                : format("predict at the first of %d tokens whether it is repeated", sizes.length());
        return format(
                "One block of d_model %d, %d tokens of vocabulary; the task: %s. %d steps of AdamW with batches of %d, the same "
                        + "data and seed for every h. Difference of heads: one minus the mean cosine between the weights of two "
                        + "heads.",
                Trainings.EMBED_DIM, sizes.vocabulary(), what, trainings.steps(), sizes.batch());
    }

    private List<Trained> models(Task task) {
        List<Trainings.Trained> all =
                start(trainings, task).stream().map(CompletableFuture::join).toList();
        return trainings.parallel().map(all.size(), i -> model(all.get(i)));
    }

    private Trained model(Trainings.Trained training) {
        TokenModel model = training.model();
        TokenModel.Config config = model.config();
        int heads = config.heads();
        Tensor weights = model.weights(config.task()
                        .batch(config.sizes(), ~trainings.seed(), 0)
                        .tokens())
                .get(0);
        double[] entropy = new double[heads];
        double difference = 0;
        for (long b = 0; b < weights.dim(0); b++) {
            HeadStatistics statistics = HeadStatistics.of(weights.select(0, b));
            double[] own = statistics.entropy();
            for (int h = 0; h < heads; h++) {
                entropy[h] += own[h] / weights.dim(0);
            }
            difference += difference(statistics.cosineSimilarity()) / weights.dim(0);
        }
        double accuracy = model.accuracy(trainings.seed(), trainings.batches(TEST_BATCHES));
        return new Trained(heads, training.losses(), accuracy, entropy, difference);
    }

    private static double difference(double[][] cosine) {
        double sum = 0;
        int pairs = 0;
        for (int a = 0; a < cosine.length; a++) {
            for (int b = 0; b < a; b++) {
                sum += 1 - cosine[a][b];
                pairs++;
            }
        }
        return pairs == 0 ? 0 : sum / pairs;
    }

    private static String finding(List<Trained> models) {
        Trained best = models.get(0);
        Trained least = models.get(0);
        for (Trained model : models) {
            best = model.accuracy > best.accuracy ? model : best;
            least = model.accuracy < least.accuracy ? model : least;
        }
        String highest = format("%.1f %%", 100 * best.accuracy);
        String lowest = format("%.1f %%", 100 * least.accuracy);
        String accuracy = highest.equals(lowest)
                ? "Every h reached " + highest
                : format(
                        "h = %d was the most accurate with %s, h = %d the least with %s",
                        best.heads, highest, least.heads, lowest);
        Trained few = models.get(1);
        Trained many = models.get(models.size() - 1);
        double change = many.difference - few.difference;
        String verdict = Math.abs(change) < 0.05
                ? "more heads do not specialize more"
                : change > 0 ? "more heads specialize more" : "more heads specialize less";
        return format(
                "%s; from %d to %d heads their difference went from %.2f to %.2f: on this task, with this seed, %s.",
                accuracy, few.heads, many.heads, few.difference, many.difference, verdict);
    }

    private static double[] each(List<Trained> models, java.util.function.ToDoubleFunction<Trained> of) {
        return models.stream().mapToDouble(of).toArray();
    }

    /** Averages the losses over at most {@link #POINTS} groups of consecutive steps, since XChart labels every point and the labels would overlap. */
    static double[][] curve(List<Double> losses) {
        int points = Math.min(POINTS, losses.size());
        double[][] curve = new double[2][points];
        for (int i = 0; i < points; i++) {
            int from = i * losses.size() / points;
            int to = (i + 1) * losses.size() / points;
            curve[0][i] = (from + to + 1) / 2.0;
            curve[1][i] = Values.mean(losses.subList(from, to));
        }
        return curve;
    }

    private static double tail(List<Double> losses) {
        return Values.mean(losses.subList(Math.max(0, losses.size() - 10), losses.size()));
    }
}
