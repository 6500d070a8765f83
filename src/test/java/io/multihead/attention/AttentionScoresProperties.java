package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.ScoreCase;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** Scores of every stage are compared with the specification for random sizes, types, layouts and options. */
@Tag("lanes")
class AttentionScoresProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final double U = 0x1p-24;

    @Provide
    Arbitrary<AttentionCase> cases() {
        return AttentionCase.any();
    }

    @Provide
    Arbitrary<ScoreCase.Changes> extras() {
        return ScoreCase.changes();
    }

    @Property(tries = 500, edgeCases = EdgeCasesMode.NONE)
    void stagesAreThoseOfTheSpecification(
            @ForAll("cases") AttentionCase attentionCase,
            @ForAll("extras") ScoreCase.Changes extra,
            @ForAll ScoreStage stage) {
        try (Arena arena = Arena.ofShared()) {
            ScoreOptionsProperties.Trial trial = new ScoreOptionsProperties.Trial(arena, attentionCase, extra);
            AttentionCase.Built built = trial.score.built;
            AttentionOutputs weighted = trial.run(arena, SERIAL, true);
            DType dtype = attentionCase.storage().output();
            AttentionOutputs outputs =
                    plain(arena, attentionCase, built).withScores(scores(arena, trial, dtype), stage);
            Attention.forward(THREADS, built.query(), built.key(), built.value(), outputs, trial.score.options);
            Tensor scores = outputs.scores().tensor();
            assertArrayEquals(Numbers.of(weighted.output()), Numbers.of(outputs.output()), "output");
            assertArrayEquals(Numbers.of(weighted.logSumExp()), Numbers.of(outputs.logSumExp()), "logSumExp");
            assertTrue(Layout.untouchedOutside(scores), "bytes around the scores");
            if (stage == ScoreStage.WEIGHTS) {
                Tensor narrowed =
                        Layout.DENSE.allocate(arena, dtype, scores.shape().toArray());
                weighted.weights().copyTo(narrowed);
                assertArrayEquals(Numbers.of(narrowed), Numbers.of(scores));
            } else {
                checkScores(Numbers.of(scores), trial, extra, stage, dtype);
            }
        }
    }

    /**
     * The error of a chain of fused multiply-adds is at most its bound, which counts one rounding of each product. Inputs in f64 are
     * rounded when they are read, which adds two roundings. Scaling rounds once and a cap eight times (see ScoreOptionsProperties). At most
     * two biases, a linear one and one of a mask, are rounded and added, with two roundings each of at most kappa.
     */
    private static void checkScores(
            double[] actual,
            ScoreOptionsProperties.Trial trial,
            ScoreCase.Changes extra,
            ScoreStage stage,
            DType dtype) {
        ReferenceAttention.Scores scaled = expected(trial, ScoreRule.NONE);
        ReferenceAttention.Scores expected =
                switch (stage) {
                    case SCALED -> scaled;
                    case CAPPED -> extra.softCap() == 0 ? scaled : expected(trial, ScoreRule.softCap(extra.softCap()));
                    default -> expected(trial, trial.score.rule);
                };
        for (int i = 0; i < actual.length; i++) {
            double exact = expected.scores()[i];
            if (exact == Double.NEGATIVE_INFINITY) {
                assertEquals(exact, actual[i]);
                continue;
            }
            double roundings = 3 * scaled.errors()[i] + 9 * U * Math.abs(scaled.scores()[i]);
            roundings += stage == ScoreStage.MASKED ? 4 * U * trial.kappa : 0;
            double allowed = roundings + Tolerance.storage(exact, dtype) * (1 + 0x1p-10);
            String difference = actual[i] + " for " + exact + " at " + i;
            assertTrue(Math.abs(actual[i] - exact) <= allowed, difference);
        }
    }

    private static ReferenceAttention.Scores expected(ScoreOptionsProperties.Trial trial, ScoreRule rule) {
        AttentionCase.Built built = trial.score.built;
        return new ReferenceAttention.Call(
                        built.query(), built.key(), built.value(), built.scale(), rule, ReferenceDropout.NONE)
                .scores();
    }

    private static AttentionOutputs plain(Arena arena, AttentionCase attentionCase, AttentionCase.Built built) {
        AttentionCase.Storage storage = attentionCase.storage();
        return built.outputs(arena, storage.results(), storage.output(), false);
    }

    private static Tensor scores(Arena arena, ScoreOptionsProperties.Trial trial, DType dtype) {
        AttentionCase.Built built = trial.score.built;
        Tensor query = built.query();
        Layout layout = trial.attentionCase.storage().results();
        return layout.allocate(
                arena,
                dtype,
                query.dim(0),
                query.dim(1),
                query.dim(2),
                built.key().dim(2));
    }

    /** Each sequence has the same scores alone, in a view with lengths, in packed sequences and in a cache. */
    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void storagesGiveWhatEachSequenceHasAlone(@ForAll ScoreStage stage, @ForAll long seed) {
        new Storages(seed).check(stage);
    }

    /** Three sequences of different lengths, stored in several ways. */
    private static final class Storages {
        private static final int HEADS = 4;
        private static final int KV_HEADS = 2;
        private static final int DIM = 8;

        final SplittableRandom random;
        final long[] lengths;
        final int most;
        final int queries;
        final Tensor query;
        final Tensor key;
        final Tensor value;
        final AttentionOptions options;

        Storages(long seed) {
            random = new SplittableRandom(seed);
            int limit = random.nextInt(3) == 0 ? 600 : 40;
            lengths = new long[] {random.nextInt(limit), 0, 1 + random.nextInt(limit)};
            most = (int) Arrays.stream(lengths).max().orElseThrow() + random.nextInt(3);
            queries = 1 + random.nextInt(5);
            query = Numbers.gaussian(Tokens.zeros(3, HEADS, queries, DIM), random, 0, 1);
            key = Numbers.gaussian(Tokens.zeros(3, KV_HEADS, most, DIM), random, 0, 1);
            value = Numbers.gaussian(Tokens.zeros(3, KV_HEADS, most, DIM), random, 0, 1);
            Mask mask = random.nextBoolean() ? Mask.CAUSAL : Mask.window(3, 5);
            ScoreOptions scores = random.nextBoolean() ? ScoreOptions.NONE : ScoreOptions.NONE.withSoftCap(2);
            options = AttentionOptions.DEFAULT.withMask(mask).withScores(scores.withSinks(1f, 0f, -1f, 2f));
        }

        void check(ScoreStage stage) {
            float[] alone = alone(stage);
            for (int b = 0; b < 3; b++) {
                if (lengths[b] < most) {
                    key.slice(0, b, b + 1).slice(2, lengths[b], most).fill(Double.NaN);
                }
            }
            assertArrayEquals(alone, run(KeyValueView.of(key, value, lengths), most, stage), "lengths");
            KeyValueCache cache =
                    KeyValueCache.contiguous(KeyValueCache.Config.of(1, KV_HEADS, DIM), 3, Math.max(1, most));
            for (int b = 0; b < 3; b++) {
                cache.append(SERIAL, 0, b, part(key, b), part(value, b));
            }
            int longest = (int) Arrays.stream(lengths).max().orElseThrow();
            assertArrayEquals(narrow(alone, longest), run(cache.view(0, 0, 1, 2), longest, stage), "cache");
            assertArrayEquals(narrow(alone, longest), packed(longest, stage), "packed");
        }

        /**
         * Returns the scores of each sequence computed separately, in rows of the largest length. Missing scores are minus infinity, and
         * missing weights are 0.
         */
        private float[] alone(ScoreStage stage) {
            float[] all = new float[3 * HEADS * queries * most];
            Arrays.fill(all, stage == ScoreStage.WEIGHTS ? 0 : Float.NEGATIVE_INFINITY);
            for (int b = 0; b < 3; b++) {
                int keys = (int) lengths[b];
                Tensor scores = Tensor.of(new float[HEADS * queries * keys], 1, HEADS, queries, keys);
                Attention.forward(
                        SERIAL,
                        query.slice(0, b, b + 1),
                        part(key, b),
                        part(value, b),
                        output(1).withScores(scores, stage),
                        options);
                float[] rows = scores.toArray();
                for (int row = 0; row < HEADS * queries; row++) {
                    System.arraycopy(rows, row * keys, all, (b * HEADS * queries + row) * most, keys);
                }
            }
            return all;
        }

        private float[] run(KeyValueView view, int keys, ScoreStage stage) {
            Tensor scores = Tensor.of(new float[3 * HEADS * queries * keys], 3, HEADS, queries, keys);
            Attention.forward(THREADS, query, view, output(3).withScores(scores, stage), options);
            return scores.toArray();
        }

        /** Returns the scores of packed queries and keys as {@code [batch, heads, queries, keys]}. */
        private float[] packed(int keys, ScoreStage stage) {
            Tensor tokens = tokens(query, queries, queries, queries);
            KeyValueView view = KeyValueView.packed(
                    tokens(key, lengths), tokens(value, lengths), PackedSequences.ofLengths(lengths));
            Tensor scores = Tensor.of(new float[HEADS * 3 * queries * keys], 1, HEADS, 3L * queries, keys);
            Tensor output = Tensor.of(new float[HEADS * 3 * queries * DIM], 1, HEADS, 3L * queries, DIM);
            AttentionOutputs outputs = AttentionOutputs.of(output).withScores(scores, stage);
            PackedSequences sequences = PackedSequences.ofLengths(queries, queries, queries);
            Attention.forward(SERIAL, tokens, sequences, view, outputs, options);
            return scores.reshape(HEADS, 3, queries, keys).permute(1, 0, 2, 3).toArray();
        }

        private static Tensor tokens(Tensor from, long... lengths) {
            int heads = (int) from.dim(1);
            PackedSequences sequences = PackedSequences.ofLengths(lengths);
            long all = sequences.tokens();
            Tensor packed = Tensor.of(new float[(int) (heads * all * DIM)], 1, heads, all, DIM);
            for (int b = 0; b < 3; b++) {
                from.slice(0, b, b + 1)
                        .slice(2, 0, lengths[b])
                        .copyTo(packed.slice(2, sequences.start(b), sequences.end(b)));
            }
            return packed;
        }

        private float[] narrow(float[] all, int keys) {
            return Tensor.of(all, (long) 3 * HEADS * queries, most)
                    .slice(1, 0, keys)
                    .toArray();
        }

        private Tensor part(Tensor tensor, int b) {
            return tensor.slice(0, b, b + 1).slice(2, 0, lengths[b]);
        }

        private AttentionOutputs output(int batch) {
            return AttentionOutputs.of(Tensor.of(new float[batch * HEADS * queries * DIM], batch, HEADS, queries, DIM));
        }
    }

    /** Tokens that a cache has evicted have no score at any stage. Tokens hidden by a mask have a score before the mask is applied. */
    @Example
    void keysThatWereGivenUpHaveNoScore() {
        KeyValueCache cache = KeyValueCache.paged(KeyValueCache.Config.of(1, 1, 1), 1 << 20);
        int sequence = cache.open();
        float[] tokens = new float[172];
        Arrays.fill(tokens, 2f);
        cache.append(SERIAL, 0, sequence, Tensor.of(tokens, 1, 1, 172, 1), Tensor.of(tokens, 1, 1, 172, 1));
        cache.slide(sequence, 100);
        for (ScoreStage stage : ScoreStage.values()) {
            Tensor scores = Tensor.of(new float[172], 1, 1, 1, 172);
            AttentionOutputs outputs =
                    AttentionOutputs.of(Tensor.of(new float[1], 1, 1, 1, 1)).withScores(scores, stage);
            AttentionOptions last = AttentionOptions.DEFAULT.withMask(Mask.window(1, 0));
            Attention.forward(SERIAL, Tensor.of(new float[] {3}, 1, 1, 1, 1), cache.view(0, sequence), outputs, last);
            float[] expected = new float[172];
            boolean masked = stage == ScoreStage.MASKED || stage == ScoreStage.WEIGHTS;
            Arrays.fill(expected, stage == ScoreStage.WEIGHTS ? 0 : Float.NEGATIVE_INFINITY);
            Arrays.fill(expected, masked ? 170 : 100, 172, stage == ScoreStage.WEIGHTS ? 0.5f : 6);
            assertArrayEquals(expected, scores.toArray(), stage.name());
        }
    }

    /** NaN in a hidden key is the score of that key before the mask, and affects no other result. */
    @Example
    void aHiddenKeysScoreIsItsOwn() {
        Tensor query = Tensor.of(new float[] {1, 2}, 1, 1, 2, 1);
        Tensor key = Tensor.of(new float[] {1, 2, Float.NaN}, 1, 1, 3, 1);
        AttentionOptions options =
                AttentionOptions.DEFAULT.withMask(Mask.keyLengths(2).and(Mask.CAUSAL));
        float none = Float.NEGATIVE_INFINITY;
        float nan = Float.NaN;
        for (ScoreStage stage : ScoreStage.values()) {
            Tensor scores = Tensor.of(new float[6], 1, 1, 2, 3);
            Tensor output = Tensor.of(new float[2], 1, 1, 2, 1);
            Attention.forward(
                    SERIAL, query, key, key, AttentionOutputs.of(output).withScores(scores, stage), options);
            float small = (float) (1 / (1 + Math.exp(2)));
            float[] expected =
                    switch (stage) {
                        case SCALED, CAPPED -> new float[] {1, 2, nan, 2, 4, nan};
                        case MASKED -> new float[] {1, none, none, 2, 4, none};
                        case WEIGHTS -> new float[] {1, 0, 0, small, 1 - small, 0};
                    };
            assertArrayEquals(expected, scores.toArray(), 4 * 0x1p-24f, stage.name());
            assertArrayEquals(new float[] {1, 2 - small}, output.toArray(), 8 * 0x1p-24f);
        }
    }
}
