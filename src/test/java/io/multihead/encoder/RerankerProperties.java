package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.run.PairTruncation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Tests random pairs with the tiny model: scores are compared with the specification, and truncation and the composition of batches are
 * tested.
 */
@Tag("lanes")
class RerankerProperties {
    private static final TinyReranker MODEL = new TinyReranker(1, 1);

    private static Path folder;
    private static Compute three;
    private static Reranker serial;
    private static Reranker threaded;

    @BeforeContainer
    static void load() throws IOException {
        folder = MODEL.write(Files.createTempDirectory("reranker"));
        three = Compute.threads(3);
        serial = Reranker.load(Compute.serial(), folder).withActivation(ScoreActivation.IDENTITY);
        threaded = Reranker.load(three, folder).withActivation(ScoreActivation.IDENTITY);
    }

    @AfterContainer
    static void close() throws IOException {
        serial.close();
        threaded.close();
        three.close();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Property(tries = 150)
    void scoresAreThoseOfTheSpecification(
            @ForAll long seed, @ForAll @IntRange(min = 3, max = TinyModel.POSITIONS) int maxTokens) {
        SplittableRandom random = new SplittableRandom(seed);
        String query = TinyReranker.texts(random, 1, 4).get(0);
        List<String> passages = TinyReranker.texts(random, 6, 8);
        double[] actual = serial.withMaxTokens(maxTokens).score(query, passages);
        assertEquals(passages.size(), actual.length);
        for (int i = 0; i < actual.length; i++) {
            TinyReranker.Pair pair = TinyReranker.Pair.of(ids(query), ids(passages.get(i)), maxTokens);
            TinyReranker.Outputs expected = MODEL.outputs(pair.ids(), pair.types());
            assertEquals(
                    expected.exact()[0],
                    actual[i],
                    expected.bounds()[0],
                    "\"" + query + "\", \"" + passages.get(i) + "\", " + maxTokens);
        }
    }

    private static int[] ids(String text) {
        int[] ids = serial.tokenizer().encodeWithSpecialTokens(text);
        return Arrays.copyOfRange(ids, 1, ids.length - 1);
    }

    @Property(tries = 100)
    void bitsAreThoseOfEachPairAlone(@ForAll long seed, @ForAll boolean several) {
        SplittableRandom random = new SplittableRandom(seed);
        String query = TinyReranker.texts(random, 1, 4).get(0);
        List<String> passages = TinyReranker.texts(random, 1 + random.nextInt(80), 8);
        double[] alone = passages.stream()
                .mapToDouble(passage -> serial.score(query, passage))
                .toArray();
        assertArrayEquals(alone, (several ? threaded : serial).score(query, passages));
    }

    /** The closed form of truncation equals the loop in {@link TinyReranker.Pair}, which removes one token after the other. */
    @Property(tries = 1000)
    void theLongerTextIsCutFirst(
            @ForAll @IntRange(max = 40) int first,
            @ForAll @IntRange(max = 40) int second,
            @ForAll @IntRange(max = 50) int most) {
        int[] ids = TinyReranker.Pair.of(filled(first, 7), filled(second, 8), most + 3)
                .ids();
        assertEquals(count(ids, 7), PairTruncation.keptOfFirst(first, second, most));
        assertEquals(count(ids, 8), PairTruncation.keptOfSecond(first, second, most));
    }

    private static int[] filled(int length, int id) {
        int[] ids = new int[length];
        Arrays.fill(ids, id);
        return ids;
    }

    private static long count(int[] ids, int id) {
        return Arrays.stream(ids).filter(other -> other == id).count();
    }

    /** The lengths are those in the tests of the tokenizers crate: texts of 0, 2, 4 and 8 tokens are truncated to 7 tokens. */
    @Property(tries = 1)
    void lengthsAreThoseOfTheReferencesTests() {
        int[] lengths = {0, 2, 4, 8};
        String[] kept = {"00 02 04 07", "20 22 24 25", "40 42 34 34", "70 52 43 34"};
        for (int i = 0; i < lengths.length; i++) {
            StringBuilder row = new StringBuilder();
            for (int length : lengths) {
                row.append(row.isEmpty() ? "" : " ")
                        .append(PairTruncation.keptOfFirst(lengths[i], length, 7))
                        .append(PairTruncation.keptOfSecond(lengths[i], length, 7));
            }
            assertEquals(kept[i], row.toString());
        }
        assertTrue(PairTruncation.keptOfFirst(Integer.MAX_VALUE, Integer.MAX_VALUE, 509) == 254);
    }
}
