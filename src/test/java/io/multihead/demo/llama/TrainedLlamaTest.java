package io.multihead.demo.llama;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.demo.llama.LlamaFile.Weights;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The model that the study trains: gradients, training and files. */
class TrainedLlamaTest {
    private static final Compute CPU = Compute.serial();
    private static final int LENGTH = 12;
    private static final Llama.Config SIZES = new Llama.Config(300, 32, 64, 2, 4, 2);

    @TempDir
    private Path folder;

    private static int[] draw(int count, long seed) {
        return new SplittableRandom(seed).ints(count, 0, 299).toArray();
    }

    /**
     * Along a direction d of a parameter p, the gradient equals the difference (L(p + h d) - L(p - h d)) / 2h except
     * for third derivatives. With h d of 1/500 of the size of p, these are 1.2 % of the steepest slope, which is the
     * slope of the embedding, and 0.3 % with half the step, which the test uses. The rounding of the loss in f32, 1e-6,
     * is below 0.5 % of a difference. The test allows 1 %. A missing term would change a slope by tens of percents.
     */
    @Test
    void gradientsAreSlopesOfTheLoss() {
        Llama model = new Llama(SIZES, 1);
        int[] tokens = draw(3 * LENGTH, 2);
        int[] targets = draw(3 * LENGTH, 3);
        Map<String, Tensor> gradients = model.gradients();
        model.learn(CPU, tokens, targets, LENGTH, gradients);
        assertEquals(2 * 7 + 2, gradients.size());
        SplittableRandom random = new SplittableRandom(4);
        model.parameters().forEach((name, parameter) -> {
            float[] values = parameter.toArray();
            float[] gradient = gradients.get(name).toArray();
            double norm = 0;
            for (float g : gradient) {
                norm += g * g;
            }
            double size = 0;
            for (float value : values) {
                size += value * value / values.length;
            }
            // half of the direction is the gradient, so that the slope is not small by chance
            double step = 0.001 * Math.sqrt(size);
            float[] direction = new float[values.length];
            double slope = 0;
            for (int i = 0; i < values.length; i++) {
                direction[i] = (float)
                        (gradient[i] / Math.sqrt(norm) * Math.sqrt(values.length) + 0.5 * random.nextGaussian());
                slope += gradient[i] * direction[i];
            }
            double up = lossAt(model, name, values, direction, step, tokens, targets);
            double down = lossAt(model, name, values, direction, -step, tokens, targets);
            Tensor.of(values, parameter.shape().toArray()).copyTo(parameter);
            model.parametersChanged();
            assertEquals(slope, (up - down) / (2 * step), 0.01 * Math.abs(slope), name);
        });
    }

    private static double lossAt(
            Llama model, String name, float[] values, float[] direction, double step, int[] tokens, int[] targets) {
        float[] moved = new float[values.length];
        for (int i = 0; i < moved.length; i++) {
            moved[i] = (float) (values[i] + step * direction[i]);
        }
        Tensor to = model.parameters().get(name);
        Tensor.of(moved, to.shape().toArray()).copyTo(to);
        model.parametersChanged();
        return model.loss(CPU, tokens, targets, LENGTH);
    }

    @Test
    void weightsAreCausalAndSumTo1() {
        Llama model = new Llama(SIZES, 1);
        List<Tensor> layers = model.weights(CPU, draw(LENGTH, 5));
        assertEquals(2, layers.size());
        for (Tensor weights : layers) {
            for (int head = 0; head < 4; head++) {
                for (int query = 0; query < LENGTH; query++) {
                    double sum = 0;
                    for (int key = 0; key < LENGTH; key++) {
                        sum += weights.get(head, query, key);
                        assertTrue(key <= query || weights.get(head, query, key) == 0);
                    }
                    assertEquals(1, sum, 1e-5);
                }
            }
        }
    }

    private static List<String> texts() {
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            texts.add("Text " + i + "\nThe fox saw the crow, and the crow saw the fox, " + i + " times.");
        }
        return texts;
    }

    private static LlamaTraining.Trained trained(int steps) {
        return new LlamaTraining(texts(), 300, CPU, 7).train(SIZES, steps, (step, loss) -> {});
    }

    @Test
    void trainingLearnsAndRepeatsItself() {
        LlamaTraining.Trained trained = trained(30);
        assertEquals(Math.log(299), trained.losses().getFirst(), 0.3);
        assertEquals(299, trained.pieces().vocabulary());
        assertTrue(trained.losses().getLast() < 3, trained.losses().toString());
        assertTrue(trained.heldOut() < 3, trained.heldOut() + " nats");
        // the first loss does not depend on the schedule, which differs for one step
        assertEquals(trained.losses().subList(0, 1), trained(1).losses());
    }

    /**
     * The weights are rounded to bf16, so that all three models have the same numbers. The layers add in another order.
     */
    @Test
    void filesHaveTheLogitsOfTheLayers() throws IOException {
        LlamaTraining.Trained trained = trained(5);
        int[] ids = draw(40, 9);
        ids[7] = 298;
        float[] layers = trained.model().nextLogits(CPU, ids);
        float[] f32 = logits(trained, Weights.F32, ids);
        assertArrayEquals(f32, logits(trained, Weights.BF16, ids));
        double largest = 0;
        for (float logit : layers) {
            largest = Math.max(largest, Math.abs(logit));
        }
        // 2 layers of seven products of at most 64 terms each have at most 1000 roundings of 2^-24
        assertArrayEquals(layers, f32, (float) (1000 * 0x1p-24 * largest));
        // otherwise the test would also pass with equal weights
        assertTrue(largest > 0.5, largest + " at most");
        float[] q8 = logits(trained, Weights.Q8_0, ids);
        assertArrayEquals(layers, q8, (float) (0.1 * largest));
    }

    private float[] logits(LlamaTraining.Trained trained, Weights weights, int[] ids) throws IOException {
        Path file = folder.resolve(weights + ".gguf");
        LlamaFile.write(trained.model(), trained.pieces(), 100, weights, file);
        try (LanguageModel model = LanguageModel.load(CPU, file);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session session = sessions.open().append(ids)) {
            assertEquals(
                    "fox\n <|endoftext|>",
                    model.tokenizer().decode(model.tokenizer().encode("fox\n <|endoftext|>")));
            return session.nextLogits();
        }
    }
}
