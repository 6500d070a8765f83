package io.multihead.it.spark;

import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Measures a call of attention over cached shards on two executors with a core each, and over the same shards on one
 * thread of the driver, without set-up. It needs a quiet machine with at least two cores.
 */
final class ShardedAttentionTime {
    private static final int PASSES = 10;
    private static final int HEADS = 8;
    private static final int KEY_VALUE_HEADS = 2;
    private static final int DIM = 64;
    private static final int TOKENS = 1 << 14;

    private ShardedAttentionTime() {}

    /**
     * Prints the figures.
     *
     * @param args number of shards of 16,384 keys and 16 MiB each
     */
    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        try (SparkSession spark =
                SparkHome.session().master("local-cluster[2,1,2048]").getOrCreate()) {
            JavaRDD<KeyValueShard> shards = JavaSparkContext.fromSparkContext(spark.sparkContext())
                    .parallelize(IntStream.range(0, count).boxed().toList(), count)
                    .map(ShardedAttentionTime::shard)
                    .cache();
            shards.count();
            KeyValueShard[] here = IntStream.range(0, count)
                    .mapToObj(ShardedAttentionTime::shard)
                    .toArray(KeyValueShard[]::new);
            for (int queries : new int[] {1, 64, 512}) {
                ShardedQuery query = new ShardedQuery(
                        HEADS, KEY_VALUE_HEADS, queries, DIM, DIM, AttentionContract.random(-1, HEADS * queries * DIM));
                double sharded = best(() -> ShardedAttention.attend(shards, count, query));
                double thread = best(() -> {
                    for (KeyValueShard shard : here) {
                        ShardedAttention.attend(shard, query);
                    }
                    return null;
                });
                // states of splits for 512 queries would be 1.4 GB
                double splits = queries > 64 ? Double.NaN : best(() -> ShardedSplits.attend(shards, count, query));
                System.out.printf(
                        "%d keys, %d queries: two executors %.1f ms, states of splits %.1f ms, one thread %.1f ms%n",
                        count * TOKENS, queries, sharded, splits, thread);
            }
        }
    }

    private static KeyValueShard shard(int index) {
        int elements = KEY_VALUE_HEADS * TOKENS * DIM;
        return new KeyValueShard(
                index,
                (long) index * TOKENS,
                TOKENS,
                AttentionContract.random(2L * index, elements),
                AttentionContract.random(2L * index + 1, elements));
    }

    /** Returns the milliseconds of the fastest pass. */
    private static double best(Callable<?> pass) throws Exception {
        double best = Double.POSITIVE_INFINITY;
        for (int i = 0; i < PASSES; i++) {
            long start = System.nanoTime();
            pass.call();
            best = Math.min(best, (System.nanoTime() - start) * 1e-6);
        }
        return best;
    }
}
