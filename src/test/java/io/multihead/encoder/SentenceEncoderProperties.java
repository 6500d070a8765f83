package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.model.Pooling;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/** Tests pooling, the parts of long texts, and the composition of batches with random texts and token ids and the tiny model. */
class SentenceEncoderProperties {
    /** The largest relative error of rounding to f32. */
    private static final double HALF_ULP = 0x1p-24;
    /** The bound is much larger than the roundings of a few hundred additions in double, and much smaller than roundings to f32. */
    private static final double DOUBLES = 1e-12;

    private static final ReferenceEncoder REFERENCE = new ReferenceEncoder(TinyModel.weights(1));

    private static Path folder;
    private static Compute three;
    private static SentenceEncoder serial;
    private static SentenceEncoder threaded;

    /** The options of a view of an encoder. */
    record View(Pooling pooling, boolean normalized, int maxTokens, LongTexts longTexts, String prompt) {
        SentenceEncoder of(SentenceEncoder encoder) {
            return encoder.withPooling(pooling)
                    .withNormalization(normalized)
                    .withMaxTokens(maxTokens)
                    .withLongTexts(longTexts)
                    .withPrompt(prompt);
        }
    }

    @BeforeContainer
    static void load() throws IOException {
        folder = TinyModel.write(Files.createTempDirectory("encoder"));
        three = Compute.threads(3);
        serial = SentenceEncoder.load(Compute.serial(), folder);
        threaded = SentenceEncoder.load(three, folder);
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
    void poolingIsThatOfTheReference(
            @ForAll("sequences") List<int[]> ids, @ForAll Pooling pooling, @ForAll boolean normalized) {
        View view = new View(pooling, normalized, TinyModel.POSITIONS, LongTexts.FAIL, "");
        float[][] actual = view.of(serial).embedTokens(ids);
        assertEquals(ids.size(), actual.length);
        for (int i = 0; i < actual.length; i++) {
            double[] expected = REFERENCE.embed(ids.get(i), pooling, normalized);
            // the tolerance is for elements of about 1, and grows in proportion for larger elements
            double[] plain = REFERENCE.embed(ids.get(i), pooling, false);
            double most = SentenceEncoderTest.TOLERANCE * Math.max(1, largest(plain));
            // dividing by a length below 1 increases the error by the same factor
            most /= normalized ? Math.min(1, length(plain)) : 1;
            // a sum of n elements divided by the square root of n has errors that are larger by the square root of n
            most *= pooling == Pooling.MEAN_SQRT_LEN ? Math.sqrt(ids.get(i).length) : 1;
            assertNear(expected, actual[i], most, view + ", " + Arrays.toString(ids.get(i)));
        }
    }

    @Property(tries = 300)
    void longTextsAreSplitBetweenWordsAndAveraged(@ForAll("texts") List<String> texts, @ForAll("splits") View view) {
        SentenceEncoder encoder = view.of(serial);
        Iterator<TextEmbedding> iterator = encoder.embed(texts.iterator());
        float[][] actual = encoder.embed(texts);
        assertEquals(texts.size(), actual.length);
        for (int i = 0; i < actual.length; i++) {
            String what = view + ", \"" + texts.get(i) + "\"";
            int[] ids = serial.tokenizer().encodeWithSpecialTokens(view.prompt + texts.get(i));
            assertAverage(parts(ids, view.maxTokens - 2), view, actual[i], what);
            TextEmbedding embedding = iterator.next();
            assertArrayEquals(actual[i], embedding.vector(), what);
            assertEquals(ids.length - 2, embedding.tokens(), what);
            assertEquals(0, embedding.ignoredTokens(), what);
        }
    }

    /**
     * Returns the parts of a text, without the tokens around them. A part has as many whole words as fit, and a word that is longer than a
     * part is divided.
     */
    private static List<List<Integer>> parts(int[] ids, int room) {
        List<List<Integer>> parts = new ArrayList<>();
        List<Integer> part = new ArrayList<>();
        for (List<Integer> word : words(ids)) {
            if (part.size() + word.size() > room && !part.isEmpty()) {
                parts.add(part);
                part = new ArrayList<>();
            }
            for (int token : word) {
                if (part.size() == room) {
                    parts.add(part);
                    part = new ArrayList<>();
                }
                part.add(token);
            }
        }
        if (!part.isEmpty() || parts.isEmpty()) {
            parts.add(part);
        }
        return parts;
    }

    private static List<List<Integer>> words(int[] ids) {
        List<List<Integer>> words = new ArrayList<>();
        for (int i = 1; i < ids.length - 1; i++) {
            if (words.isEmpty() || !serial.tokenizer().token(ids[i]).startsWith("##")) {
                words.add(new ArrayList<>());
            }
            words.getLast().add(ids[i]);
        }
        return words;
    }

    /**
     * Requires the mean of the parts' vectors, weighted by their numbers of tokens, within the rounding errors. Let m be the largest
     * element of a part and u half an ulp. The vector of each part was rounded to f32 here, so an element of the mean has an error of at
     * most e = u m. The library rounds its mean once, with an error of at most u m. Divided by the length n, an element x / n has an error
     * of e / n, an error from n of at most sqrt(dim) e / n, because x / n <= 1, and a rounding of at most u.
     */
    private static void assertAverage(List<List<Integer>> parts, View view, float[] actual, String what) {
        SentenceEncoder plain = serial.withPooling(view.pooling)
                .withNormalization(false)
                .withMaxTokens(view.maxTokens)
                .withLongTexts(LongTexts.FAIL);
        double[] mean = new double[TinyModel.DIM];
        double all = parts.stream().mapToInt(part -> Math.max(1, part.size())).sum();
        double largest = 0;
        for (List<Integer> part : parts) {
            float[] vector = plain.embedTokens(List.of(around(part)))[0];
            for (int i = 0; i < mean.length; i++) {
                mean[i] += Math.max(1, part.size()) / all * vector[i];
                largest = Math.max(largest, Math.abs(vector[i]));
            }
        }
        double length = length(mean);
        double error = HALF_ULP * largest;
        if (view.normalized) {
            double[] unit = Arrays.stream(mean).map(x -> x / length).toArray();
            assertNear(unit, actual, (1 + Math.sqrt(mean.length)) * error / length + HALF_ULP + DOUBLES, what);
        } else {
            assertNear(mean, actual, 2 * error + DOUBLES, what);
        }
    }

    private static int[] around(List<Integer> part) {
        EncoderTokenizer tokenizer = serial.tokenizer();
        return IntStream.concat(
                        IntStream.concat(
                                IntStream.of(tokenizer.firstToken()),
                                part.stream().mapToInt(Integer::intValue)),
                        IntStream.of(tokenizer.lastToken()))
                .toArray();
    }

    @Property(tries = 200)
    void bitsAreThoseOfEachTextAlone(
            @ForAll("texts") List<String> texts,
            @ForAll("views") View view,
            @ForAll long seed,
            @ForAll boolean several) {
        SentenceEncoder alone = view.of(serial);
        List<float[]> expected = texts.stream().map(alone::embed).toList();
        List<Integer> batch = batch(texts.size(), new Random(seed));
        List<String> chosen = batch.stream().map(texts::get).toList();
        float[][] same = batch.stream().map(expected::get).toArray(float[][]::new);
        SentenceEncoder encoder = view.of(several ? threaded : serial);
        assertArrayEquals(same, encoder.embed(chosen), "a list");
        List<int[]> ids = chosen.stream()
                .map(text -> encoder.tokenizer().encodeWithSpecialTokens(view.prompt + text))
                .toList();
        assertArrayEquals(same, encoder.embedTokens(ids), "tokens");
        List<float[]> iterated = new ArrayList<>();
        encoder.embed(chosen.iterator()).forEachRemaining(embedding -> iterated.add(embedding.vector()));
        assertArrayEquals(same, iterated.toArray(float[][]::new), "an iterator");
    }

    /** Returns indices of texts in random order. Some are missing and others are repeated. */
    private static List<Integer> batch(int texts, Random random) {
        List<Integer> batch = new ArrayList<>();
        for (int i = 0; i < texts; i++) {
            batch.addAll(Collections.nCopies(random.nextInt(3), i));
        }
        Collections.shuffle(batch, random);
        return batch;
    }

    /** A batch contains texts, or parts of texts, until the next one would exceed 512 tokens. None is padded or moved. */
    @Property(tries = 150)
    void batchesAreFilledByTokens(@ForAll("texts") List<String> texts, @ForAll("views") View view) {
        List<Integer> done = new ArrayList<>();
        view.of(serial).embed(texts, done::add);
        assertEquals(progress(lengths(texts, view), BertConfig.BATCH_TOKENS), done, view.toString());
    }

    /** Returns the lengths of the sequences of each text. */
    private static List<List<Integer>> lengths(List<String> texts, View view) {
        List<List<Integer>> lengths = new ArrayList<>();
        for (String text : texts) {
            int[] ids = serial.tokenizer().encodeWithSpecialTokens(view.prompt + text);
            lengths.add(
                    view.longTexts == LongTexts.TRUNCATE
                            ? List.of(Math.min(ids.length, view.maxTokens))
                            : parts(ids, view.maxTokens - 2).stream()
                                    .map(part -> part.size() + 2)
                                    .toList());
        }
        return lengths;
    }

    /** Returns the number of completed texts after each batch. */
    static List<Integer> progress(List<List<Integer>> lengths, int capacity) {
        List<Integer> progress = new ArrayList<>();
        int tokens = 0;
        for (int text = 0; text < lengths.size(); text++) {
            for (int length : lengths.get(text)) {
                if (tokens + length > capacity) {
                    progress.add(text);
                    tokens = 0;
                }
                tokens += length;
            }
        }
        if (!lengths.isEmpty()) {
            progress.add(lengths.size());
        }
        return progress;
    }

    /** The model has more positions than a batch has tokens, so the longest text is a separate batch. */
    @Property(tries = 20)
    void batchesHaveRoomForTheLongestText(@ForAll("counts") List<Integer> counts) throws IOException {
        int positions = BertConfig.BATCH_TOKENS + 88;
        Path model = withPositions(folder.resolve("long"), positions);
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), model)) {
            List<String> texts = counts.stream().map("a "::repeat).toList();
            List<Integer> done = new ArrayList<>();
            float[][] vectors = encoder.embed(texts, done::add);
            List<List<Integer>> lengths = counts.stream()
                    .map(count -> List.of(Math.min(count + 2, positions)))
                    .toList();
            assertEquals(progress(lengths, positions), done);
            for (int i = 0; i < vectors.length; i++) {
                assertArrayEquals(encoder.embed(texts.get(i)), vectors[i]);
            }
        }
    }

    private static Path withPositions(Path folder, int positions) throws IOException {
        Map<String, Tensor> weights = TinyModel.weights(1);
        float[] table = new float[positions * TinyModel.DIM];
        Random random = new Random(2);
        for (int i = 0; i < table.length; i++) {
            table[i] = random.nextFloat();
        }
        weights.put("embeddings.position_embeddings.weight", Tensor.of(table, positions, TinyModel.DIM));
        TinyModel.write(folder, weights);
        Files.writeString(folder.resolve("config.json"), TinyModel.CONFIG.replace(": 24", ": " + positions));
        Files.delete(folder.resolve("sentence_bert_config.json"));
        return folder;
    }

    /** Returns sequences of random token ids, including special tokens, between the first and the last token. */
    @Provide
    Arbitrary<List<int[]>> sequences() {
        return Arbitraries.integers()
                .between(0, TinyModel.VOCABULARY.size() - 1)
                .list()
                .ofMaxSize(TinyModel.POSITIONS - 2)
                .map(SentenceEncoderProperties::around)
                .list()
                .ofMaxSize(40);
    }

    /** Returns texts of words, special tokens, punctuation and unknown characters. A word has from one token to more tokens than a part. */
    @Provide
    Arbitrary<List<String>> texts() {
        Arbitrary<String> words = Arbitraries.frequencyOf(
                Tuple.of(8, letters(8)),
                Tuple.of(1, letters(60)),
                Tuple.of(1, Arbitraries.of("[MASK]", "[SEP]", ":", "a[MASK]bc", "!", "query:ab")));
        return words.list()
                .ofMaxSize(25)
                .map(list -> String.join(" ", list))
                .list()
                .ofMaxSize(60);
    }

    private static Arbitrary<String> letters(int most) {
        return Arbitraries.strings().withCharRange('a', 'z').ofMinLength(1).ofMaxLength(most);
    }

    @Provide
    Arbitrary<View> views() {
        return views(Arbitraries.of(LongTexts.TRUNCATE, LongTexts.SPLIT_AND_AVERAGE));
    }

    @Provide
    Arbitrary<View> splits() {
        return views(Arbitraries.just(LongTexts.SPLIT_AND_AVERAGE));
    }

    private static Arbitrary<View> views(Arbitrary<LongTexts> ways) {
        return Combinators.combine(
                        Arbitraries.of(Pooling.class),
                        Arbitraries.of(true, false),
                        Arbitraries.integers().between(3, TinyModel.POSITIONS),
                        ways,
                        // a prompt may end within the first word of the text
                        Arbitraries.of("", "query: ", "abc", "a bc def ghij ", "zyxwvutsrqponmlkjihgfedcba"))
                .as(View::new);
    }

    @Provide
    Arbitrary<List<Integer>> counts() {
        return Arbitraries.integers().between(0, 700).list().ofMaxSize(6);
    }

    private static double length(double[] vector) {
        return Math.sqrt(Arrays.stream(vector).map(x -> x * x).sum());
    }

    private static double largest(double[] vector) {
        return Arrays.stream(vector).map(Math::abs).max().orElseThrow();
    }

    private static void assertNear(double[] expected, float[] actual, double most, String what) {
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], actual[i], most, "element " + i + ": " + what);
        }
    }
}
