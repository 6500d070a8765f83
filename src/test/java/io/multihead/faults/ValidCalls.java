package io.multihead.faults;

import io.multihead.analysis.HeadImportance;
import io.multihead.analysis.HeadStatistics;
import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.AttentionSplits;
import io.multihead.attention.AttentionState;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.attention.ScoreOptions;
import io.multihead.attention.ScoreStage;
import io.multihead.attention.Softmax;
import io.multihead.cache.CacheContents;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.NewTokens;
import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.nn.CrossEntropy;
import io.multihead.nn.Embedding;
import io.multihead.nn.Gelu;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Linear;
import io.multihead.nn.PositionalEncoding;
import io.multihead.nn.RmsNorm;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.MultiHeadGradients;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.position.Rope;
import io.multihead.position.SinusoidalPositions;
import io.multihead.position.TokenAngles;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceCrossEntropy;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.ReferenceGemm;
import io.multihead.reference.ReferenceLinear;
import io.multihead.reference.ReferenceNorm;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.ScoreRule;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Function;

/** One valid call of every method that reads or writes memory. Each call has new memory. */
final class ValidCalls {
    /** Makes a call whose tensors are in the given memory. */
    interface Maker extends Function<Memory, ValidCall> {}

    private static final Compute CPU = Compute.serial();

    private ValidCalls() {}

    static List<Maker> all() {
        return java.util.stream.Stream.of(attention(), splits(), gemm(), cache(), layers(), others(), references())
                .flatMap(List::stream)
                .toList();
    }

    private static List<Maker> attention() {
        return List.of(
                m -> ValidCall.of(Attention.class, "forward", CPU, q(m), k(m), k(m), q(m), masked(m)),
                m -> ValidCall.of(Attention.class, "forward", CPU, q(m), k(m), k(m), outputs(m), masked(m)),
                m -> ValidCall.of(
                        Attention.class, "forward", CPU, q(m), KeyValueView.of(k(m), k(m)), outputs(m), masked(m)),
                m -> ValidCall.of(
                        Attention.class,
                        "forward",
                        CPU,
                        q(m),
                        k(m),
                        k(m),
                        outputs(m).withScores(t(m, 2, 4, 2, 3), ScoreStage.SCALED),
                        masked(m)),
                m -> ValidCall.of(Attention.class, "forward", CPU, q(m), cached(), outputs(m), AttentionOptions.CAUSAL),
                m -> ValidCall.of(
                        Attention.class,
                        "forward",
                        CPU,
                        t(m, 1, 4, 3, 4),
                        PackedSequences.of(0, 1, 3),
                        KeyValueView.packed(t(m, 1, 2, 5, 4), t(m, 1, 2, 5, 4), PackedSequences.of(0, 3, 5)),
                        AttentionOutputs.of(t(m, 1, 4, 3, 4)),
                        AttentionOptions.CAUSAL),
                m -> ValidCall.of(
                        Attention.class,
                        "backward",
                        CPU,
                        new AttentionPass(q(m), k(m), k(m), outputs(m), AttentionOptions.CAUSAL),
                        q(m),
                        AttentionGradients.of(q(m), k(m), k(m))),
                m -> ValidCall.of(
                        Attention.class,
                        "backward",
                        CPU,
                        new AttentionPass(q(m), k(m), k(m), outputs(m), AttentionOptions.CAUSAL),
                        outputs(m),
                        AttentionGradients.of(q(m), k(m), k(m))),
                m -> ValidCall.of(AttentionState.class, "merge", CPU, state(m), state(m), state(m)),
                m -> ValidCall.of(
                        Softmax.class, "forward", CPU, t(m, 3, 4), t(m, 3, 4), t(m, 3), AttentionOptions.DEFAULT),
                m -> ValidCall.of(
                        Softmax.class, "logForward", CPU, t(m, 3, 4), t(m, 3, 4), t(m, 3), AttentionOptions.DEFAULT),
                m -> ValidCall.of(
                        Softmax.class, "backward", CPU, t(m, 3, 4), t(m, 3, 4), t(m, 3, 4), AttentionOptions.DEFAULT),
                m -> ValidCall.of(KeyValueView.class, "of", k(m), k(m)),
                m -> ValidCall.of(
                        KeyValueView.class, "packed", t(m, 1, 2, 3, 4), t(m, 1, 2, 3, 4), PackedSequences.of(0, 1, 3)),
                m -> ValidCall.of(
                        KeyValueView.class,
                        "pages",
                        List.of(t(m, 2, 2, 4), t(m, 2, 2, 4)),
                        List.of(t(m, 2, 2, 4), t(m, 2, 2, 4)),
                        3L));
    }

    private static List<Maker> splits() {
        return List.of(
                m -> ValidCall.of(
                        AttentionSplits.class,
                        "forward",
                        CPU,
                        t(m, 1, 1, 1, 4),
                        oneHead(m).shard(1024),
                        t(m, 1, 1, 1, 1, 101),
                        AttentionOptions.DEFAULT),
                m -> ValidCall.of(
                        AttentionSplits.class,
                        "merge",
                        CPU,
                        List.of(splits(m)),
                        AttentionOutputs.of(t(m, 1, 1, 1, 4)).withLogSumExp(t(m, 1, 1, 1))));
    }

    private static List<Maker> gemm() {
        return List.of(
                m -> ValidCall.of(
                        Gemm.class,
                        "multiply",
                        CPU,
                        t(m, 3, 4),
                        t(m, 4, 2),
                        t(m, 3, 2),
                        GemmOptions.DEFAULT.withBias(t(m, 2))),
                m -> ValidCall.of(
                        Gemm.class,
                        "multiply",
                        CPU,
                        t(m, 3, 4),
                        PackedWeights.ofInputRows(t(m, 4, 2)),
                        t(m, 3, 2),
                        GemmOptions.DEFAULT.withBias(t(m, 2))),
                m -> ValidCall.of(
                        Gemm.class,
                        "multiply",
                        CPU,
                        t(m, 3, 4),
                        List.of(PackedWeights.ofInputRows(t(m, 4, 2)), PackedWeights.ofInputRows(t(m, 4, 5))),
                        List.of(t(m, 3, 2), t(m, 3, 5)),
                        List.of(GemmOptions.DEFAULT, GemmOptions.DEFAULT.withBias(t(m, 5)))),
                m -> ValidCall.of(PackedWeights.class, "ofInputRows", t(m, 4, 2)),
                m -> ValidCall.of(PackedWeights.class, "ofInputRows", Arena.ofAuto(), t(m, 4, 2)),
                m -> ValidCall.of(PackedWeights.class, "ofInputRows", Arena.ofAuto(), t(m, 4, 2), WeightFormat.BF16),
                m -> ValidCall.of(
                        PackedWeights.class, "ofInputRows", CPU, Arena.ofAuto(), t(m, 4, 2), WeightFormat.BF16),
                m -> ValidCall.of(PackedWeights.class, "ofOutputRows", t(m, 2, 4)),
                m -> ValidCall.of(PackedWeights.class, "ofOutputRows", Arena.ofAuto(), t(m, 2, 4)),
                m -> ValidCall.of(PackedWeights.class, "ofOutputRows", Arena.ofAuto(), t(m, 2, 4), WeightFormat.BF16),
                m -> ValidCall.of(
                        PackedWeights.class, "ofOutputRows", CPU, Arena.ofAuto(), t(m, 2, 4), WeightFormat.BF16),
                m -> ValidCall.of(PackedWeights.class, "ofOutputRows", Arena.ofAuto(), blocks()),
                m -> ValidCall.of(PackedWeights.class, "ofOutputRows", CPU, Arena.ofAuto(), blocks()),
                m -> ValidCall.on(rope(), "apply", CPU, k(m), k(m), 5L),
                m -> ValidCall.on(rope(), "apply", CPU, k(m), k(m), new long[] {3, 1, 2}),
                m -> ValidCall.on(rope(), "apply", new float[8], 2, 5L),
                m -> ValidCall.on(rope(), "apply", new float[8], 2, new long[] {5}),
                m -> ValidCall.of(Rope.class, "ofTables", t(m, 6, 2), t(m, 6, 2), Rope.Pairing.HALF_SPLIT),
                m -> ValidCall.of(TokenAngles.class, "of", t(m, 3, 2), t(m, 3, 2), Rope.Pairing.HALF_SPLIT),
                m -> ValidCall.on(angles(m), "apply", CPU, k(m), k(m)),
                m -> ValidCall.on(angles(m), "applyInverse", CPU, k(m), k(m)),
                m -> ValidCall.on(rope(), "apply", CPU, k(m), k(m), new long[] {3, 1, 2, 0, 5, 4}),
                m -> ValidCall.on(rope(), "applyInverse", CPU, k(m), k(m), 5L),
                m -> ValidCall.on(rope(), "applyInverse", CPU, k(m), k(m), new long[] {3, 1, 2}));
    }

    private static List<Maker> cache() {
        return List.of(
                m -> ValidCall.on(cache2(), "append", CPU, 1, new int[] {0, 1}, k(m), k(m)),
                m -> ValidCall.on(rotated(), "append", CPU, 1, new int[] {0, 1}, tokens(m)),
                m -> ValidCall.on(cache2(), "append", CPU, 1, 0, t(m, 1, 2, 3, 4), t(m, 1, 2, 3, 4)),
                m -> ValidCall.on(
                        cache2(),
                        "append",
                        CPU,
                        1,
                        new int[] {0, 1},
                        PackedSequences.of(0, 1, 3),
                        t(m, 1, 2, 3, 4),
                        t(m, 1, 2, 3, 4)),
                m -> ValidCall.on(CacheContents.of(cache3()), "read", CPU, 0, 1, 1L, t(m, 2, 2, 4), t(m, 2, 2, 4)),
                m -> ValidCall.on(cache2(), "view", 1, new int[] {1, 0}),
                m -> ValidCall.on(cache2(), "truncate", 0, 0L),
                m -> ValidCall.on(cache2(), "slide", 0, 0L),
                m -> ValidCall.on(cache2(), "fork", 0),
                m -> ValidCall.on(cache2(), "close", 0),
                m -> ValidCall.on(cache2(), "length", 1, 1),
                m -> ValidCall.of(KeyValueCache.class, "contiguous", KeyValueCache.Config.of(2, 2, 4), 2, 5L),
                m -> ValidCall.of(KeyValueCache.class, "paged", KeyValueCache.Config.of(2, 2, 4), 1L << 20));
    }

    private static List<Maker> layers() {
        MultiHeadAttention attention = MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(4, 2), 1);
        TransformerBlock block = TransformerBlock.initialize(Arena.ofAuto(), TransformerBlock.Config.of(4, 2, 6), 1);
        return List.of(
                m -> ValidCall.on(attention, "forward", CPU, x(m), x(m)),
                m -> ValidCall.on(attention, "forward", CPU, inputs(m), results(m)),
                m -> ValidCall.on(attention, "record", CPU, inputs(m), results(m), 1L),
                m -> ValidCall.on(attention, "keepHeads", Arena.ofAuto(), new int[] {1}),
                m -> ValidCall.on(
                        attention.record(CPU, inputs(m), results(m), 1L),
                        "backward",
                        x(m),
                        MultiHeadGradients.of(x(m), x(m), x(m)),
                        Map.of("in_proj_weight", t(m, 12, 4))),
                m -> ValidCall.on(block, "forward", CPU, x(m), x(m)),
                m -> ValidCall.on(block, "record", CPU, x(m), x(m), 1L),
                m -> ValidCall.on(Linear.of(t(m, 3, 4), t(m, 3)), "forward", CPU, x(m), t(m, 2, 3, 3)),
                m -> ValidCall.on(Linear.of(t(m, 3, 4), t(m, 3)), "record", CPU, x(m), t(m, 2, 3, 3), 1L),
                m -> ValidCall.on(LayerNorm.of(Shape.of(4), 1e-5, t(m, 4), t(m, 4)), "forward", CPU, x(m), x(m)),
                m -> ValidCall.on(RmsNorm.of(Shape.of(4), 1e-5, t(m, 4)), "forward", CPU, x(m), x(m)),
                m -> ValidCall.on(Gelu.erf(), "forward", CPU, x(m), x(m)),
                m -> ValidCall.on(Gelu.erf().record(CPU, x(m), x(m)), "backward", x(m), x(m), Map.of()),
                m -> ValidCall.on(CrossEntropy.of(), "forward", CPU, t(m, 3, 4), new int[] {0, 1, 3}),
                m -> ValidCall.on(
                        CrossEntropy.of(), "lossAndGradient", CPU, t(m, 3, 4), new int[] {0, 1, 3}, t(m, 3, 4)),
                m -> ValidCall.on(Embedding.of(t(m, 5, 4)), "forward", CPU, new int[] {0, 4, 1}, t(m, 3, 4)),
                m -> ValidCall.on(
                        Embedding.of(t(m, 5, 4)), "backward", CPU, new int[] {0, 4, 1}, t(m, 3, 4), t(m, 5, 4)),
                m -> ValidCall.on(PositionalEncoding.of(t(m, 5, 4)), "forward", CPU, x(m), x(m)),
                m -> ValidCall.on(PositionalEncoding.of(t(m, 5, 4)), "record", CPU, x(m), x(m), 1L),
                m -> ValidCall.of(SinusoidalPositions.class, "fill", CPU, t(m, 3, 4), 2L),
                m -> ValidCall.of(SinusoidalPositions.class, "add", CPU, t(m, 3, 4), 2L));
    }

    private static List<Maker> others() {
        return List.of(
                m -> ValidCall.on(t(m, 3, 4), "copyTo", t(m, 3, 4)),
                m -> ValidCall.of(Tensor.class, "concat", 1, t(m, 3, 4), new Tensor[] {t(m, 3, 1), t(m, 3, 3)}),
                m -> ValidCall.on(t(m, 3, 4), "slice", 1, 1L, 3L),
                m -> ValidCall.on(t(m, 3, 4), "select", 1, 2L),
                m -> ValidCall.on(t(m, 3, 4), "permute", new int[] {1, 0}),
                m -> ValidCall.on(t(m, 3, 4), "reshape", new long[] {2, -1}),
                m -> ValidCall.on(t(m, 1, 4), "broadcast", new long[] {3, 4}),
                m -> ValidCall.on(t(m, 3, 4), "get", new long[] {2, 3}),
                m -> ValidCall.of(
                        Tensor.class,
                        "view",
                        MemorySegment.ofArray(new float[12]),
                        DType.F32,
                        Shape.of(2, 3),
                        1L,
                        new long[] {4, 1}),
                m -> ValidCall.of(Tensor.class, "of", new float[12], new long[] {3, 4}),
                m -> ValidCall.of(
                        Safetensors.class, "parse", MemorySegment.ofArray(new byte[] {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'
                        })),
                m -> ValidCall.of(HeadImportance.class, "of", t(m, 3, 4)),
                m -> ValidCall.of(HeadStatistics.class, "of", t(m, 2, 3, 4)));
    }

    private static List<Maker> references() {
        return List.of(
                m -> ValidCall.of(ReferenceAttention.class, "forward", q(m), k(m), k(m), 0.5, ScoreRule.NONE),
                m -> ValidCall.on(
                        new ReferenceAttention.Call(q(m), k(m), k(m), 0.5, ScoreRule.NONE, ReferenceDropout.NONE),
                        "forward"),
                m -> ValidCall.of(
                        ReferenceGemm.class, "multiply", t(m, 3, 4), t(m, 4, 2), t(m, 3, 2), 1.0, 1.0, t(m, 2)),
                m -> ValidCall.of(ReferenceLinear.class, "forward", new double[6], new double[8], new double[4], 4, 2),
                m -> ValidCall.of(
                        ReferenceLinear.class, "backward", new double[6], new double[8], new double[12], 4, 2),
                m -> ValidCall.of(
                        ReferenceNorm.class, "forward", new double[4], new double[4], new double[4], 0.1, true),
                m -> ValidCall.of(
                        ReferenceNorm.class, "backward", new double[4], new double[4], new double[4], 0.1, true),
                m -> ValidCall.of(ReferenceCrossEntropy.class, "forward", new double[6], new int[] {0, 1}, -1),
                m -> ValidCall.of(ReferenceCrossEntropy.class, "backward", new double[6], new int[] {0, 1}, -1),
                m -> ValidCall.on(ReferenceRope.of(4, 10_000, true), "apply", k(m), new long[] {3, 1, 2}, false),
                m -> ValidCall.of(ReferenceRope.class, "tables", t(m, 6, 2), t(m, 6, 2), true),
                m -> ValidCall.on(ReferenceRope.of(4, 10_000, true), "perPair", new double[] {1, 2}, 1.1),
                m -> ValidCall.on(ReferenceRope.of(4, 10_000, true), "yarn", 2.0, 64.0, 32.0, 1.0, 1.1, true));
    }

    private static Tensor t(Memory memory, long... dims) {
        return Tensor.view(memory.of(Memory.Kind.HEAP, new SplittableRandom(1)), DType.F32, Shape.of(dims));
    }

    private static BlockTensor blocks() {
        return BlockTensor.view(MemorySegment.ofArray(new byte[68]), BlockType.Q8_0, Shape.of(2, 32), 0);
    }

    private static Tensor q(Memory memory) {
        return t(memory, 2, 4, 2, 4);
    }

    private static Tensor k(Memory memory) {
        return t(memory, 2, 2, 3, 4);
    }

    private static Tensor x(Memory memory) {
        return t(memory, 2, 3, 4);
    }

    private static AttentionOutputs outputs(Memory memory) {
        return AttentionOutputs.of(q(memory)).withLogSumExp(t(memory, 2, 4, 2));
    }

    private static KeyValueView oneHead(Memory memory) {
        return KeyValueView.of(t(memory, 1, 1, 3, 4), t(memory, 1, 1, 3, 4));
    }

    /** Returns the states of all keys of one query. The states of two queries would exceed the memory of a tensor. */
    private static Tensor splits(Memory memory) {
        Tensor states = t(memory, 1, 1, 1, 1, 101);
        AttentionSplits.forward(CPU, t(memory, 1, 1, 1, 4), oneHead(memory), states, AttentionOptions.DEFAULT);
        return states;
    }

    private static AttentionState state(Memory memory) {
        return new AttentionState(q(memory), t(memory, 2, 4, 2));
    }

    private static AttentionOptions masked(Memory memory) {
        return AttentionOptions.CAUSAL
                .withMask(Mask.CAUSAL.and(Mask.bias(t(memory, 2, 3))).and(Mask.keyLengths(2, 3)))
                .withScores(ScoreOptions.NONE.withSlopes(1f, 1f, 1f, 1f).withSinks(1f, 1f, 1f, 1f));
    }

    private static MultiHeadInputs inputs(Memory memory) {
        return MultiHeadInputs.of(x(memory), x(memory), x(memory))
                .withMask(Mask.bias(t(memory, 2, 1, 1, 3)).and(Mask.bias(t(memory, 3, 3))))
                .withHeadMask(t(memory, 2));
    }

    private static MultiHeadOutputs results(Memory memory) {
        return MultiHeadOutputs.of(x(memory)).withAverageWeights(t(memory, 2, 3, 3));
    }

    private static Rope rope() {
        return Rope.of(Rope.Config.of(4));
    }

    private static TokenAngles angles(Memory memory) {
        return TokenAngles.of(t(memory, 2, 3, 2), t(memory, 2, 3, 2), Rope.Pairing.INTERLEAVED);
    }

    private static NewTokens tokens(Memory memory) {
        return NewTokens.of(k(memory), k(memory)).withPositions(3, 1, 2, 0, 5, 4);
    }

    private static KeyValueCache rotated() {
        return KeyValueCache.contiguous(KeyValueCache.Config.of(2, 2, 4).withRopes(rope()), 2, 5);
    }

    private static KeyValueCache cache2() {
        return KeyValueCache.contiguous(KeyValueCache.Config.of(2, 2, 4), 2, 5);
    }

    private static KeyValueCache cache3() {
        KeyValueCache cache = cache2();
        Tensor tokens = Tensor.of(new float[48], 2, 2, 3, 4);
        cache.append(CPU, 0, new int[] {0, 1}, tokens, tokens);
        return cache;
    }

    private static KeyValueView cached() {
        return cache3().view(0, 0, 1);
    }
}
