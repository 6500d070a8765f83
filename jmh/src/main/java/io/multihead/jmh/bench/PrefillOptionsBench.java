package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.attention.ScoreStage;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.NewTokens;
import io.multihead.jmh.data.Data;
import io.multihead.position.Alibi;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.util.stream.LongStream;
import org.openjdk.jmh.annotations.Param;

/** The cost of options in a causal prefill of 2048 tokens with 8 query heads on 2 key heads of 128. */
public class PrefillOptionsBench extends Comparison {
    private static final int HEADS = 8;
    private static final int KEY_HEADS = 2;
    private static final int TOKENS = 2048;
    private static final int DIM = 128;

    /**
     * No option, soft-cap, linear biases, sinks, a modifier that changes nothing, tokens that are first appended to a
     * cache, a cache that rotates keys with queries rotated before, and such a cache with an array of positions
     * {@code [batch, tokens]}. Key lengths and an offset of the queries that hide no more keys than the causal mask,
     * and the weights or the scores of a stage as a second output.
     */
    @Param({
        "plain",
        "softcap",
        "alibi",
        "sinks",
        "modifier",
        "cache",
        "rope",
        "positions",
        "keylengths",
        "queryoffset",
        "weights",
        "scores"
    })
    public String impl;

    private final Rope rope = Rope.of(Rope.Config.of(DIM));
    private final long[] positions = LongStream.range(0, TOKENS).toArray();
    private final int[] sequences = {0};
    private NewTokens tokens;
    private Tensor query;
    private Tensor key;
    private Tensor rotatedQuery;
    private KeyValueCache cache;
    private KeyValueView view;
    private Tensor value;
    private Tensor output;
    private AttentionOptions options;

    @Override
    void open() {
        query = tensor(HEADS, 1);
        key = tensor(KEY_HEADS, 2);
        value = tensor(KEY_HEADS, 3);
        rotatedQuery = tensor(HEADS, 4);
        KeyValueCache.Config config = KeyValueCache.Config.of(1, KEY_HEADS, DIM);
        boolean isRotated = impl.equals("rope") || impl.equals("positions");
        cache = KeyValueCache.contiguous(isRotated ? config.withRopes(rope) : config, 1, TOKENS);
        tokens = NewTokens.of(key, value).withPositions(positions);
        view = cache.view(0, 0);
        output = tensor(HEADS, 5);
        ScoreOptions scores =
                switch (impl) {
                    case "softcap" -> ScoreOptions.NONE.withSoftCap(50);
                    case "alibi" -> ScoreOptions.NONE.withSlopes(Alibi.slopes(HEADS));
                    case "sinks" -> ScoreOptions.NONE.withSinks(new float[HEADS]);
                    case "modifier" -> ScoreOptions.NONE.withModifier((b, h, q, k, score) -> score);
                    case "plain", "cache", "rope", "positions", "keylengths", "queryoffset", "weights", "scores" ->
                        ScoreOptions.NONE;
                    default -> throw unknown(impl);
                };
        Mask mask =
                switch (impl) {
                    case "keylengths" -> Mask.CAUSAL.and(Mask.keyLengths(TOKENS));
                    case "queryoffset" -> Mask.CAUSAL.and(Mask.queryOffset(0));
                    default -> Mask.CAUSAL;
                };
        options = AttentionOptions.DEFAULT.withMask(mask).withScores(scores);
        call = switch (impl) {
            case "cache" -> () -> throughCache(query);
            case "rope" ->
                () -> {
                    rope.apply(cpu, query, rotatedQuery, 0);
                    throughCache(rotatedQuery);
                };
            case "positions" ->
                () -> {
                    rope.apply(cpu, query, rotatedQuery, positions);
                    cache.truncate(0, 0);
                    cache.append(cpu, 0, sequences, tokens);
                    Attention.forward(cpu, rotatedQuery, view, AttentionOutputs.of(output), options);
                };
            case "weights", "scores" -> {
                AttentionOutputs outputs = withAllScores();
                yield () -> Attention.forward(cpu, query, key, value, outputs, options);
            }
            default -> () -> Attention.forward(cpu, query, key, value, output, options);
        };
    }

    private AttentionOutputs withAllScores() {
        Tensor all = Data.tensor(Data.zeros(HEADS * TOKENS * TOKENS), 1, HEADS, TOKENS, TOKENS);
        AttentionOutputs outputs = AttentionOutputs.of(output);
        return impl.equals("weights") ? outputs.withWeights(all) : outputs.withScores(all, ScoreStage.SCALED);
    }

    private void throughCache(Tensor queries) {
        cache.truncate(0, 0);
        cache.append(cpu, 0, 0, key, value);
        Attention.forward(cpu, queries, view, AttentionOutputs.of(output), options);
    }

    private static Tensor tensor(int heads, long seed) {
        return Data.tensor(seed, 1, heads, TOKENS, DIM);
    }
}
