package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.junit.jupiter.api.Test;

/** Properties of attention over sharded keys in every kind of cluster. */
abstract class AttentionContract extends EmbeddingContract {
    private static final int DIM = 8;
    static final ShardedQuery QUERY = new ShardedQuery(2, 1, 2, DIM, DIM, random(-1, 4 * DIM));

    static float[] random(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    /** Returns a shard, which is the same on each executor. */
    static KeyValueShard shard(int index, int tokens) {
        return shard(index, (long) index * tokens, tokens);
    }

    private static KeyValueShard shard(int index, long firstKey, int tokens) {
        float[] keys = random(2L * index, tokens * DIM);
        return new KeyValueShard(index, firstKey, tokens, keys, random(2L * index + 1, tokens * DIM));
    }

    /** Returns shards, which the executors create, in random order. */
    JavaRDD<KeyValueShard> shards(int count, int tokens, int partitions) {
        List<Integer> indices =
                new ArrayList<>(IntStream.range(0, count).boxed().toList());
        Collections.shuffle(indices, new Random(partitions));
        return JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(indices, partitions)
                .map(index -> shard(index, tokens));
    }

    static PartialAttention onTheDriver(int count, int tokens) {
        return ShardedAttention.merge(
                0,
                IntStream.range(0, count)
                        .mapToObj(index -> ShardedAttention.attend(shard(index, tokens), QUERY))
                        .toList(),
                QUERY);
    }

    private static KeyValueShard whole(int count, int tokens) {
        return whole(IntStream.range(0, count)
                .mapToObj(index -> shard(index, tokens))
                .toList());
    }

    private static KeyValueShard whole(List<KeyValueShard> shards) {
        int tokens = shards.stream().mapToInt(KeyValueShard::tokens).sum();
        float[] keys = new float[tokens * DIM];
        float[] values = new float[tokens * DIM];
        for (KeyValueShard shard : shards) {
            int at = (int) shard.firstKey() * DIM;
            System.arraycopy(shard.keys(), 0, keys, at, shard.keys().length);
            System.arraycopy(shard.values(), 0, values, at, shard.values().length);
        }
        return new KeyValueShard(0, 0, tokens, keys, values);
    }

    static void assertSameBits(PartialAttention expected, PartialAttention actual) {
        assertEquals(expected.shards(), actual.shards());
        assertSameResults(expected, actual);
    }

    private static void assertSameResults(PartialAttention expected, PartialAttention actual) {
        assertArrayEquals(expected.output(), actual.output());
        assertArrayEquals(expected.logSumExp(), actual.logSumExp());
    }

    @Test
    void shardsHaveTheBitsOfTheDriverForAnyPartitioning() {
        // 70 shards are three groups of a second level, the last one incomplete
        PartialAttention expected = onTheDriver(70, 300);
        for (int partitions : new int[] {1, 4, 70}) {
            assertSameBits(expected, ShardedAttention.attend(shards(70, 300, partitions), 70, QUERY));
        }
    }

    @Test
    void oneShardHasTheBitsOfAttentionItself() {
        assertSameBits(
                ShardedAttention.attend(shard(0, 5000), QUERY), ShardedAttention.attend(shards(1, 5000, 1), 1, QUERY));
    }

    @Test
    void millionKeysAreWithinTheBoundOfTheReference() {
        int count = 64;
        int tokens = 1 << 14;
        PartialAttention actual = ShardedAttention.attend(shards(count, tokens, 8), count, QUERY);
        assertSameBits(onTheDriver(count, tokens), actual);
        KeyValueShard whole = whole(count, tokens);
        ReferenceAttention.Result expected = ReferenceAttention.forward(
                Tensor.of(QUERY.values(), 1, QUERY.heads(), QUERY.queries(), DIM),
                Tensor.of(whole.keys(), 1, 1, whole.tokens(), DIM),
                Tensor.of(whole.values(), 1, 1, whole.tokens(), DIM),
                (float) (1 / Math.sqrt(DIM)),
                ScoreRule.NONE);
        double[] output = doubles(actual.output());
        double ratio = Tolerance.ratio(output, expected.output(), expected.errorScale(), DType.F32);
        // each of log2(64) merges rounds three times: two products and a sum
        assertTrue(ratio <= Tolerance.FORWARD_ORDINARY + 3 * 6, "R = " + ratio);
        for (int row = 0; row < expected.logSumExp().length; row++) {
            // the sum of exponentials has some tens of roundings, and its logarithm has the same error
            assertEquals(expected.logSumExp()[row], actual.logSumExp()[row], 64 * 0x1p-24);
        }
        PartialAttention unsharded = ShardedAttention.attend(whole, QUERY);
        assertSameResults(unsharded, ShardedSplits.attend(shards(count, tokens, 8), count, QUERY));
        double apart = Tolerance.ratio(output, doubles(unsharded.output()), expected.errorScale(), DType.F32);
        System.out.println("1M keys, in units: sharded to reference " + ratio + ", sharded to unsharded " + apart);
        assertTrue(apart <= 2 * Tolerance.FORWARD_ORDINARY + 3 * 6, "R = " + apart);
    }

    /** Shards have different lengths and any partitioning, and the last shard has a part of a split. */
    @Test
    void splitsHaveTheBitsOfOneCall() {
        List<KeyValueShard> all = new ArrayList<>();
        int at = 0;
        for (int tokens : new int[] {1024, 4096, 2048, 1024, 5120, 700}) {
            all.add(shard(all.size(), at, tokens));
            at += tokens;
        }
        PartialAttention expected = ShardedAttention.attend(whole(all), QUERY);
        List<KeyValueShard> shuffled = new ArrayList<>(all);
        for (int partitions : new int[] {1, 2, 6}) {
            Collections.shuffle(shuffled, new Random(partitions));
            JavaRDD<KeyValueShard> shards =
                    JavaSparkContext.fromSparkContext(spark.sparkContext()).parallelize(shuffled, partitions);
            PartialAttention actual = ShardedSplits.attend(shards, all.size(), QUERY);
            assertEquals(all.size(), actual.shards());
            assertSameResults(expected, actual);
        }
    }

    @Test
    void shardsThatAreNotWholeSplitsAreErrors() {
        failsWith("firstKey: 1000; expected a multiple of 1024", shards(2, 1000, 2), 2);
        failsWith("shards: 2; expected 3", shards(2, 1024, 2), 3);
        JavaRDD<KeyValueShard> doubled = shards(2, 1024, 2).union(shards(1, 1024, 1));
        failsWith("states[1]: split 0; expected split 1", doubled, 3);
        Function<KeyValueShard, Boolean> odd = shard -> shard.index() != 1;
        failsWith("states[1]: split 2; expected split 1", shards(3, 1024, 2).filter(odd), 2);
    }

    private static void failsWith(String message, JavaRDD<KeyValueShard> shards, int count) {
        Throwable error = assertThrows(Throwable.class, () -> ShardedSplits.attend(shards, count, QUERY));
        assertTrue(String.valueOf(error).contains(message), String.valueOf(error));
    }

    private static double[] doubles(float[] values) {
        return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
    }

    @Test
    void lostOrDoubledShardsAreErrors() {
        Function<KeyValueShard, Boolean> odd = shard -> shard.index() != 3;
        JavaRDD<KeyValueShard> lost = shards(8, 10, 2).filter(odd);
        assertThrows(IllegalStateException.class, () -> ShardedAttention.attend(lost, 8, QUERY));
        JavaRDD<KeyValueShard> last = shards(7, 10, 2);
        assertThrows(IllegalStateException.class, () -> ShardedAttention.attend(last, 8, QUERY));
        JavaRDD<KeyValueShard> doubled = shards(8, 10, 2).union(shards(1, 10, 1));
        assertThrows(IllegalStateException.class, () -> ShardedAttention.attend(doubled, 8, QUERY));
        JavaRDD<KeyValueShard> none = shards(8, 10, 2).filter(shard -> false);
        assertThrows(IllegalStateException.class, () -> ShardedAttention.attend(none, 8, QUERY));
        assertThrows(IllegalStateException.class, () -> ShardedSplits.attend(none, 8, QUERY));
    }
}
