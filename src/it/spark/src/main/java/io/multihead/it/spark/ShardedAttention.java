package io.multihead.it.spark;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionState;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

/**
 * Attention of a few queries over keys and values that are distributed over executors. Each shard becomes a state,
 * which is the output over its keys and their log-sum-exp. States are merged along a tree.
 *
 * <p>A merge rounds, so the last bits depend on the order of merges. The tree therefore follows the indices of shards.
 * The result has the same bits for any partitioning, also after the loss of executors. {@code treeReduce} is not used,
 * since it groups by the number of the partition and merges in the order of arrival. {@link ShardedSplits} has the same
 * bits as one call over all keys.
 */
public final class ShardedAttention {
    /**
     * The number of states that one task merges. It is a power of two, so that groups are subtrees of one binary tree.
     */
    static final int FANOUT = 32;

    private ShardedAttention() {}

    /**
     * The Compute of this JVM's tasks, which run on Spark's threads. This class is loaded after the check of the Java
     * version.
     */
    static final class Cpu {
        static final Compute SERIAL = Compute.serial();
    }

    /**
     * Computes attention over all shards, without mask.
     *
     * @param shards all shards, each once, in any order and any partitions
     * @param count number of shards, at least 1
     * @param query the queries, broadcast
     * @return output and log-sum-exp over all keys
     * @throws IllegalStateException if a shard is missing or repeated
     * @throws org.apache.spark.SparkException if a task finds a repeated shard, or a missing shard between others,
     *     among more than 32 shards
     */
    public static PartialAttention attend(JavaRDD<KeyValueShard> shards, int count, ShardedQuery query) {
        Broadcast<ShardedQuery> shared =
                JavaSparkContext.fromSparkContext(shards.context()).broadcast(query);
        JavaRDD<PartialAttention> states = shards.map(shard -> attend(shard, shared.value()));
        int left = count;
        while (left > FANOUT) {
            left = (left + FANOUT - 1) / FANOUT;
            states = states.mapToPair(state -> new Tuple2<>(state.index() / FANOUT, state))
                    .groupByKey(left)
                    .map(group -> merge(group._1(), group._2(), shared.value()));
        }
        List<PartialAttention> last = states.collect();
        if (last.isEmpty()) {
            throw wrongCount(0, count);
        }
        PartialAttention merged = merge(0, last, query);
        if (merged.shards() != count) {
            throw wrongCount(merged.shards(), count);
        }
        return merged;
    }

    static IllegalStateException wrongCount(int shards, int expected) {
        return new IllegalStateException("shards: " + shards + "; expected " + expected);
    }

    /** Computes the state of one shard. */
    static PartialAttention attend(KeyValueShard shard, ShardedQuery query) {
        ExecutorJava.require();
        PartialAttention partial = PartialAttention.empty(shard.index(), query);
        Attention.forward(
                Cpu.SERIAL,
                queries(query),
                keys(shard, query),
                values(shard, query),
                partial.state(query).outputs(),
                AttentionOptions.DEFAULT);
        return partial;
    }

    static Tensor queries(ShardedQuery query) {
        return Tensor.of(query.values(), 1, query.heads(), query.queries(), query.headDim());
    }

    static Tensor keys(KeyValueShard shard, ShardedQuery query) {
        return Tensor.of(shard.keys(), 1, query.keyValueHeads(), shard.tokens(), query.headDim());
    }

    static Tensor values(KeyValueShard shard, ShardedQuery query) {
        return Tensor.of(shard.values(), 1, query.keyValueHeads(), shard.tokens(), query.valueDim());
    }

    /** Merges adjacent states, then the adjacent results, and so on. */
    static PartialAttention merge(int index, Iterable<PartialAttention> states, ShardedQuery query) {
        List<PartialAttention> level = new ArrayList<>();
        states.forEach(level::add);
        level.sort(Comparator.comparingInt(PartialAttention::index));
        for (int i = 1; i < level.size(); i++) {
            if (level.get(i).index() != level.get(i - 1).index() + 1) {
                throw new IllegalStateException("shards: a part " + level.get(i).index() + " after part "
                        + level.get(i - 1).index() + "; expected each once");
            }
        }
        while (level.size() > 1) {
            List<PartialAttention> next = new ArrayList<>();
            for (int i = 0; i < level.size(); i += 2) {
                next.add(i + 1 == level.size() ? level.get(i) : merge(level.get(i), level.get(i + 1), query));
            }
            level = next;
        }
        PartialAttention all = level.get(0);
        return new PartialAttention(index, all.shards(), all.output(), all.logSumExp());
    }

    private static PartialAttention merge(PartialAttention left, PartialAttention right, ShardedQuery query) {
        PartialAttention merged = new PartialAttention(
                left.index(),
                left.shards() + right.shards(),
                new float[left.output().length],
                new double[left.logSumExp().length]);
        AttentionState.merge(Cpu.SERIAL, left.state(query), right.state(query), merged.state(query));
        return merged;
    }
}
