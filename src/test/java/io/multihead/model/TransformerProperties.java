package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.Assume;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * Models with all options are compared with their specification, and have the same bits for any division of their
 * tokens into calls.
 */
@Tag("lanes")
class TransformerProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final double U = 0x1p-24;

    /**
     * The roundings of a block: five products of up to 120 terms, a softmax, a rotation and up to six norms of up to
     * 120 terms. Each rounding is relative to the largest number.
     */
    private static final int ROUNDINGS = 5 * 120 + 3 * 120;

    /** Experts add one product, a factor that is computed from two of its results, and a sum of two rows. */
    private static int roundings(ModelCase c) {
        return ROUNDINGS + (c.options.routing() == ModelCase.Routing.NONE ? 0 : 2 * 120 + 2);
    }

    /**
     * Omits cases in which rounding may change the choice of experts. The error of each of two logits is at most the
     * bound.
     */
    private static void requireClearChoice(ModelCase c, double most) {
        Assume.that(c.margin > 2 * most);
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void logitsAreThoseOfTheSpecification(@ForAll long seed, @ForAll @IntRange(min = 1, max = 20) int tokens) {
        ModelCase c = ModelCase.random(seed);
        int[] ids = c.ids(tokens);
        double[] expected = c.reference.logits(ids);
        double[] states = c.reference.states(ids);
        double size = Math.max(largest(expected), largest(states));
        double most = (c.shape.layers() + 1) * roundings(c) * U * size;
        requireClearChoice(c, most);
        float[][] actual = complete(c, SERIAL, ids);
        for (int token = 0; token < tokens; token++) {
            for (int i = 0; i < ModelCase.VOCABULARY; i++) {
                double error = Math.abs(actual[token][i] - expected[token * ModelCase.VOCABULARY + i]);
                assertTrue(error <= most, c + ", token " + token + ": " + error + " > " + most);
            }
        }
    }

    /**
     * The types are the types of two texts in one sequence. The result depends on each token's type, so that one row
     * for all tokens would differ by more than the bound.
     */
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void statesAreThoseOfTheTypesOfTokens(@ForAll long seed, @ForAll @IntRange(min = 1, max = 20) int tokens) {
        ModelCase c = ModelCase.random(seed);
        int[] ids = c.ids(tokens);
        int[] types = IntStream.range(0, tokens)
                .map(token -> c.reference.embedding().types() != null && token >= tokens / 2 ? 1 : 0)
                .toArray();
        double[] expected = c.reference.states(ids, types);
        TokenBatch batch = TokenBatch.of(tokens);
        batch.begin();
        for (int token = 0; token < tokens; token++) {
            batch.add(ids[token], types[token]);
        }
        Buffers buffers = c.model.buffers(tokens);
        c.model.forward(SERIAL, batch, buffers);
        float[] actual = buffers.states().toArray();
        double most = c.shape.layers() * roundings(c) * U * largest(expected);
        requireClearChoice(c, most);
        for (int i = 0; i < expected.length; i++) {
            double error = Math.abs(actual[i] - expected[i]);
            assertTrue(error <= most, c + ", element " + i + ": " + error + " > " + most);
        }
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void anyChunksHaveTheBitsOfOneCall(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 40) int tokens, @ForAll boolean paged) {
        ModelCase c = ModelCase.random(seed);
        int[] ids = c.ids(tokens);
        float[][] expected = complete(c, SERIAL, ids);
        KeyValueCache.Config config = c.model.cacheConfig();
        KeyValueCache cache = paged ? KeyValueCache.paged(config, 64 << 20) : KeyValueCache.contiguous(config, 2, 40);
        Stream all = new Stream(ids, paged ? cache.open() : 0);
        Stream other = new Stream(c.ids(15), paged ? cache.open() : 1);
        TokenBatch batch = TokenBatch.of(cache, 64);
        Buffers buffers = c.model.buffers(64);
        SplittableRandom random = new SplittableRandom(seed);
        while (all.done < tokens) {
            batch.clear();
            boolean otherFirst = random.nextBoolean();
            if (otherFirst) {
                other.add(batch, random);
            }
            int row = batch.tokens();
            int from = all.done;
            all.add(batch, random);
            if (!otherFirst) {
                other.add(batch, random);
            }
            c.model.forward(THREADS, batch, buffers);
            float[][] logits = logits(
                    c, THREADS, IntStream.range(row, row + all.done - from).toArray(), buffers);
            for (int i = from; i < all.done; i++) {
                assertArrayEquals(expected[i], logits[i - from], c + ", token " + i);
            }
        }
    }

    /** A sequence, and the number of its computed tokens. */
    private static final class Stream {
        final int[] ids;
        final int number;
        int done;

        Stream(int[] ids, int number) {
            this.ids = ids;
            this.number = number;
        }

        /** Adds some of the remaining tokens. A sequence is begun only with at least one token. */
        void add(TokenBatch batch, SplittableRandom random) {
            int left = ids.length - done;
            if (left == 0) {
                return;
            }
            batch.begin(number);
            int count = random.nextBoolean() ? 1 : 1 + random.nextInt(left);
            for (int i = 0; i < count; i++) {
                batch.add(ids[done++]);
            }
        }
    }

    @Property(tries = 50, edgeCases = EdgeCasesMode.NONE)
    void aSequenceHasItsBitsInAnyBatchOnAnyThreads(@ForAll long seed) {
        ModelCase c = ModelCase.random(seed);
        int[][] sequences = {c.ids(3), c.ids(17), c.ids(1)};
        TokenBatch batch = TokenBatch.of(21);
        for (int[] ids : sequences) {
            batch.begin();
            Arrays.stream(ids).forEach(batch::add);
        }
        Buffers buffers = c.model.buffers(30);
        c.model.forward(THREADS, batch, buffers);
        float[][] together = logits(c, THREADS, IntStream.range(0, 21).toArray(), buffers);
        int row = 0;
        for (int[] ids : sequences) {
            for (float[] alone : complete(c, SERIAL, ids)) {
                assertArrayEquals(alone, together[row++], c.toString());
            }
        }
        assertArrayEquals(new int[] {2, 19, 20}, batch.lastRows());
        float[][] last = logits(c, SERIAL, batch.lastRows(), buffers);
        assertArrayEquals(together[19], last[1]);
    }

    /**
     * A model with some heads of each layer, in any order, equals the whole model with factors of 0 for the other
     * heads.
     */
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void fewerHeadsAreThoseOfTheSpecification(@ForAll long seed, @ForAll @IntRange(min = 1, max = 20) int tokens) {
        ModelCase c = ModelCase.random(seed);
        Assume.that(c.options.headNorm() != ModelCase.HeadNorm.ROW);
        SplittableRandom random = new SplittableRandom(seed);
        List<Block> blocks = new ArrayList<>();
        List<ReferenceTransformer.Block> specified = new ArrayList<>();
        int dropped = 0;
        for (int layer = 0; layer < c.shape.layers(); layer++) {
            int[] kept = someHeads(c.shape, random);
            dropped += c.shape.heads() - kept.length;
            float[] factors = new float[c.shape.heads()];
            Arrays.stream(kept).forEach(head -> factors[head] = 0.75f);
            Block whole = c.model.blocks().get(layer);
            SelfAttention weighted = whole.attention().withHeadFactors(factors);
            blocks.add(whole.withAttention(weighted.keepHeads(Arena.ofAuto(), kept)));
            ReferenceTransformer.Block block = c.reference.blocks().get(layer);
            specified.add(new ReferenceTransformer.Block(
                    HeadWeights.weighted(block.attention(), factors),
                    block.attentionNorms(),
                    block.feedForward(),
                    block.feedForwardNorms(),
                    block.parallel()));
        }
        int[] ids = c.ids(tokens);
        ReferenceTransformer of = c.reference;
        double[] expected =
                new ReferenceTransformer(of.embedding(), specified, of.finalNorm(), of.head(), 0).states(ids);
        float[] actual = states(c.model.withBlocks(blocks), ids);
        double[] whole = of.states(ids);
        double most = c.shape.layers() * roundings(c) * U * largest(expected);
        requireClearChoice(c, most);
        double changed = 0;
        for (int i = 0; i < expected.length; i++) {
            double error = Math.abs(actual[i] - expected[i]);
            assertTrue(error <= most, c + ", element " + i + ": " + error + " > " + most);
            changed = Math.max(changed, Math.abs(expected[i] - whole[i]));
        }
        assertTrue(dropped == 0 || changed > 10 * most, c + ": " + dropped + " heads change no more than " + changed);
    }

    /** Returns the same number of query heads for each of some key/value heads, in any order. */
    private static int[] someHeads(ModelCase.Shape shape, SplittableRandom random) {
        int group = shape.heads() / shape.keyValueHeads();
        int kept = 1 + random.nextInt(group);
        List<Integer> groups = shuffled(shape.keyValueHeads(), random);
        return groups.subList(0, 1 + random.nextInt(groups.size())).stream()
                .flatMap(of -> shuffled(group, random).subList(0, kept).stream().map(head -> of * group + head))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    private static List<Integer> shuffled(int count, SplittableRandom random) {
        List<Integer> all = new ArrayList<>(IntStream.range(0, count).boxed().toList());
        Collections.shuffle(all, new Random(random.nextLong()));
        return all;
    }

    /**
     * The second part of a divided model starts from the states of the first part. Token by token, and with a separate
     * cache for each part, it has the same bits as the whole model.
     */
    @Property(tries = 50, edgeCases = EdgeCasesMode.NONE)
    void aModelInTwoPartsHasTheBitsOfTheWhole(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 20) int tokens, @ForAll boolean copied) {
        ModelCase c = ModelCase.random(seed);
        int[] ids = c.ids(tokens);
        int split = (int) Math.floorMod(seed, c.shape.layers() + 1L);
        Transformer first = c.model.withBlocks(c.model.blocks().subList(0, split));
        Transformer second = c.model.withBlocks(c.model.blocks().subList(split, c.shape.layers()));
        float[] expected = states(c.model, ids);
        Buffers buffers = c.model.buffers(tokens);
        TokenBatch batch = batch(ids);
        first.forward(SERIAL, batch, buffers);
        second.forwardFrom(THREADS, batch, copied ? strided(buffers.states()) : buffers.states(), buffers);
        assertArrayEquals(expected, buffers.states().toArray(), c.toString());
        if (split == 0 || split == c.shape.layers()) {
            return;
        }
        TokenBatch ofFirst = TokenBatch.of(KeyValueCache.contiguous(first.cacheConfig(), 1, tokens), 1);
        TokenBatch ofSecond = TokenBatch.of(KeyValueCache.contiguous(second.cacheConfig(), 1, tokens), 1);
        for (int token = 0; token < tokens; token++) {
            one(ofFirst, ids[token]);
            first.forward(SERIAL, ofFirst, buffers);
            one(ofSecond, -1); // ids are not read: -1 is not a row of any table
            second.forwardFrom(SERIAL, ofSecond, strided(buffers.states()), buffers);
            int dim = c.shape.dim();
            float[] row = Arrays.copyOfRange(expected, token * dim, (token + 1) * dim);
            assertArrayEquals(row, buffers.states().toArray(), c + ", token " + token);
        }
    }

    private static void one(TokenBatch batch, int id) {
        batch.clear();
        batch.begin(0);
        batch.add(id);
    }

    /** Returns a copy in f64 and in column-major order. */
    private static Tensor strided(Tensor of) {
        Tensor transposed = Tensor.allocate(Arena.ofAuto(), DType.F64, Shape.of(of.dim(1), of.dim(0)));
        of.copyTo(transposed.permute(1, 0));
        return transposed.permute(1, 0);
    }

    private static float[] states(Transformer model, int... ids) {
        Buffers buffers = model.buffers(ids.length);
        model.forward(SERIAL, batch(ids), buffers);
        return buffers.states().toArray();
    }

    private static TokenBatch batch(int... ids) {
        TokenBatch batch = TokenBatch.of(ids.length);
        batch.begin();
        Arrays.stream(ids).forEach(batch::add);
        return batch;
    }

    /** Returns the logits of all tokens of one complete sequence. */
    static float[][] complete(ModelCase c, Compute cpu, int[] ids) {
        Buffers buffers = c.model.buffers(ids.length);
        c.model.forward(cpu, batch(ids), buffers);
        return logits(c, cpu, IntStream.range(0, ids.length).toArray(), buffers);
    }

    private static float[][] logits(ModelCase c, Compute cpu, int[] rows, Buffers buffers) {
        float[] all = new float[rows.length * ModelCase.VOCABULARY];
        c.model.logits(cpu, rows, Tensor.of(all, rows.length, ModelCase.VOCABULARY), buffers);
        float[][] byRow = new float[rows.length][];
        Arrays.setAll(byRow, i -> Arrays.copyOfRange(all, i * ModelCase.VOCABULARY, (i + 1) * ModelCase.VOCABULARY));
        return byRow;
    }

    private static double largest(double[] values) {
        return Arrays.stream(values).map(Math::abs).max().orElse(0);
    }
}
