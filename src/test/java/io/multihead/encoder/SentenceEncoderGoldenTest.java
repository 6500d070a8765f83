package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.compute.Compute;
import io.multihead.model.Pooling;
import io.multihead.support.Golden;
import io.multihead.support.Promises;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.Tensor;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * MiniLM's vectors equal the vectors of ONNX Runtime, which {@code src/it/golden} writes, and have the same bits in every form of the call.
 */
class SentenceEncoderGoldenTest {
    private static final Compute SERIAL = Compute.serial();
    private static final SentenceEncoder ENCODER = MiniLm.load(SERIAL);
    private static final List<String> TEXTS = GoldenTexts.sentences(Models.paragraph());
    /** The vectors of all texts in one call, with which several tests compare. */
    private static final float[][] MEANS = ENCODER.embed(TEXTS);

    /** The results are kept in a field, so that C2 cannot remove their allocation. */
    private float[][] results = {};

    @AfterAll
    static void close() {
        ENCODER.close();
    }

    /** PoolingTest tests other pooling modes. */
    @ParameterizedTest
    @EnumSource(
            value = Pooling.class,
            names = {"MEAN", "CLS", "MAX"})
    void vectorsAreThoseOfTheReference(Pooling pooling) {
        Tensor expected = Golden.open("encoder/minilm").tensor(pooling.name().toLowerCase(Locale.ROOT));
        assertEquals(expected.dim(0), TEXTS.size());
        // all pooling modes pool the same states, so every fourth text is enough for modes other than the mean
        int every = pooling == Pooling.MEAN ? 1 : 4;
        List<String> texts = IntStream.range(0, TEXTS.size())
                .filter(text -> text % every == 0)
                .mapToObj(TEXTS::get)
                .toList();
        float[][] actual =
                pooling == Pooling.MEAN ? MEANS : ENCODER.withPooling(pooling).embed(texts);
        // sums of 384 and 1536 products in each of 6 layers are rounded in another order, so two f32 encoders differ by
        // some 1e-7
        double worst = 0;
        for (int text = 0; text < actual.length; text++) {
            for (int i = 0; i < actual[text].length; i++) {
                worst = Math.max(worst, Math.abs(actual[text][i] - expected.get(text * every, i)));
            }
        }
        Promises.EMBEDDINGS.record(worst);
        assertTrue(worst <= Promises.EMBEDDINGS.limit(), "differ by " + worst);
    }

    @Test
    void textsHaveNoTokenToMoreThanTheModelTakes() {
        int[] counts = TEXTS.stream().mapToInt(ENCODER.tokenizer()::count).toArray();
        assertEquals(0, Arrays.stream(counts).min().orElseThrow());
        assertTrue(
                Arrays.stream(counts).max().orElseThrow() + ENCODER.tokenizer().specialTokenCount() > 512);
        assertEquals(512, ENCODER.maxTokens());
    }

    @Test
    void bitsDoNotDependOnTheBatch() {
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, TEXTS.size()).boxed().toList());
        Collections.shuffle(order, new Random(1));
        float[][] shuffled = ENCODER.embed(
                order.subList(0, order.size() / 2).stream().map(TEXTS::get).toList());
        for (int i = 0; i < shuffled.length; i++) {
            assertArrayEquals(MEANS[order.get(i)], shuffled[i], "in another order: " + order.get(i));
        }
        for (int i = 0; i < MEANS.length; i++) {
            assertArrayEquals(MEANS[i], ENCODER.embed(TEXTS.get(i)), "alone: " + i);
        }
    }

    @Test
    void bitsDoNotDependOnThreads() {
        try (Compute threads = Compute.threads(3);
                SentenceEncoder encoder = MiniLm.load(threads)) {
            assertArrayEquals(MEANS, encoder.embed(TEXTS));
        }
    }

    @Test
    void neighborsAreThoseOfTheReference() {
        Tensor golden = Golden.open("encoder/minilm").tensor("mean");
        float[][] expected = new float[(int) golden.dim(0)][];
        for (int i = 0; i < expected.length; i++) {
            expected[i] = golden.select(0, i).toArray();
        }
        for (int i = 0; i < expected.length; i++) {
            assertEquals(indices(expected[i], expected), indices(MEANS[i], MEANS));
        }
    }

    private static List<Integer> indices(float[] query, float[][] vectors) {
        return Neighbor.nearest(query, vectors, 5).stream().map(Neighbor::index).toList();
    }

    /** The program in the README has these texts, this query and this output. */
    @Test
    void theReadmeHasTheOutputOfItsProgram() throws IOException {
        Matcher program = Pattern.compile(
                        "(?s)texts = List\\.of\\(\"(.*?)\"\\);.*?encoder\\.embed\\(\"(.*?)\"\\).*?((?: *// [^\n]*\n)+)")
                .matcher(Files.readString(Path.of("README.md")));
        assertTrue(program.find(), "the README has no program");
        List<String> texts = List.of(program.group(1).split("\", \""));
        float[] query = ENCODER.embed(program.group(2));
        List<String> output = Neighbor.nearest(query, ENCODER.embed(texts), 2).stream()
                .map(found -> String.format(Locale.ROOT, "// %.4f %s", found.similarity(), texts.get(found.index())))
                .toList();
        assertEquals(output, program.group(3).lines().map(String::strip).toList());
    }

    /** The model has 22.6 million weights in f32, and there is no second copy in addition to the packed weights. */
    @Test
    void weightsAreHeldOnce() {
        long weights = 4L * 22_565_376;
        assertTrue(ENCODER.ownBytes() >= weights, ENCODER.ownBytes() + " bytes");
        assertTrue(ENCODER.ownBytes() <= 1.15 * weights, ENCODER.ownBytes() + " bytes");
    }

    /** A warm call with several batches of texts allocates only the vectors and the array that contains them. */
    @Test
    void warmCallsAllocateTheirResultsAlone() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        List<String> texts = TEXTS.subList(0, 16);
        long empty = threads.getCurrentThreadAllocatedBytes();
        results = new float[texts.size()][384];
        long expected = threads.getCurrentThreadAllocatedBytes() - empty;
        long bytes = WarmCalls.allocatedBytes(expected, () -> results = ENCODER.embed(texts));
        assertEquals(expected, bytes, "bytes of a warm call");
    }
}
