package io.multihead.it.spark;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionSplits;
import io.multihead.attention.KeyValueView;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

/**
 * Attention of a few queries over keys and values that are distributed over executors, with the same bits as one call
 * over all keys. Shards send the states of all their splits of 1024 keys without merging them. A task for each query
 * head merges the states of all shards in order. The result has the same bits for any shards of whole splits and any
 * partitioning, also after the loss of executors.
 *
 * <p>The transferred data grows with the number of keys. For many queries, {@link ShardedAttention} transfers less
 * data.
 */
public final class ShardedSplits {
    private ShardedSplits() {}

    /**
     * The states of a shard's splits for one query head.
     *
     * @param index the index of the shard among all shards
     * @param splits number of splits
     * @param states {@code [queries, splits, size]} as {@link AttentionSplits} wrote them
     */
    @SuppressWarnings("ArrayRecordComponent")
    private record HeadStates(int index, int splits, float[] states) implements Serializable {}

    /** The output {@code [queries, valueDim]} and log-sum-exp {@code [queries]} of one query head. */
    @SuppressWarnings("ArrayRecordComponent")
    private record HeadResult(int head, float[] output, double[] logSumExp) implements Serializable {}

    /**
     * Computes attention over all shards, without mask.
     *
     * @param shards all shards, each once, in any order and any partitions. All shards except the last one have a
     *     multiple of 1024 tokens.
     * @param count number of shards, at least 1
     * @param query the queries, broadcast
     * @return output and log-sum-exp over all keys, with the same bits as one call
     * @throws IllegalStateException if there is no shard
     * @throws org.apache.spark.SparkException if a shard is missing or repeated, or does not begin at a split
     */
    public static PartialAttention attend(JavaRDD<KeyValueShard> shards, int count, ShardedQuery query) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(shards.context());
        Broadcast<ShardedQuery> shared = context.broadcast(query);
        List<HeadResult> heads = shards.flatMapToPair(shard -> states(shard, shared.value()))
                .groupByKey(Math.min(query.heads(), context.defaultParallelism()))
                .map(head -> merge(head._1(), head._2(), count, shared.value()))
                .collect();
        // the merge of a head counts its states, but without shards no head has states
        if (heads.isEmpty()) {
            throw ShardedAttention.wrongCount(0, count);
        }
        int rows = query.heads() * query.queries();
        float[] output = new float[rows * query.valueDim()];
        double[] logSumExp = new double[rows];
        for (HeadResult head : heads) {
            int first = head.head() * query.queries();
            System.arraycopy(head.output(), 0, output, first * query.valueDim(), head.output().length);
            System.arraycopy(head.logSumExp(), 0, logSumExp, first, head.logSumExp().length);
        }
        return new PartialAttention(0, count, output, logSumExp);
    }

    /** Computes the states of one shard, and divides them by query heads. */
    private static Iterator<Tuple2<Integer, HeadStates>> states(KeyValueShard shard, ShardedQuery query) {
        ExecutorJava.require();
        Tensor queries = ShardedAttention.queries(query);
        KeyValueView keyValues = KeyValueView.of(
                        ShardedAttention.keys(shard, query), ShardedAttention.values(shard, query))
                .shard(shard.firstKey());
        Shape shape = AttentionSplits.shape(queries, keyValues);
        float[] states = new float[(int) shape.elements()];
        AttentionSplits.forward(
                ShardedAttention.Cpu.SERIAL,
                queries,
                keyValues,
                Tensor.of(states, shape.toArray()),
                AttentionOptions.DEFAULT);
        List<Tuple2<Integer, HeadStates>> heads = new ArrayList<>();
        int length = states.length / query.heads();
        for (int head = 0; head < query.heads(); head++) {
            float[] own = Arrays.copyOfRange(states, head * length, (head + 1) * length);
            heads.add(new Tuple2<>(head, new HeadStates(shard.index(), (int) shape.dim(3), own)));
        }
        return heads.iterator();
    }

    /** Merges the states of one query head in order of shards. */
    private static HeadResult merge(int head, Iterable<HeadStates> states, int count, ShardedQuery query) {
        List<HeadStates> shards = new ArrayList<>();
        states.forEach(shards::add);
        if (shards.size() != count) {
            throw ShardedAttention.wrongCount(shards.size(), count);
        }
        shards.sort(Comparator.comparingInt(HeadStates::index));
        int queries = query.queries();
        List<Tensor> tensors = new ArrayList<>();
        for (HeadStates shard : shards) {
            int size = shard.states().length / (queries * shard.splits());
            tensors.add(Tensor.of(shard.states(), 1, 1, queries, shard.splits(), size));
        }
        HeadResult result = new HeadResult(head, new float[queries * query.valueDim()], new double[queries]);
        AttentionOutputs outputs = AttentionOutputs.of(Tensor.of(result.output(), 1, 1, queries, query.valueDim()))
                .withLogSumExp(Tensor.of(result.logSumExp(), 1, 1, queries));
        AttentionSplits.merge(ShardedAttention.Cpu.SERIAL, tensors, outputs);
        return result;
    }
}
