package io.multihead.faults;

import static io.multihead.faults.Named.message;
import static io.multihead.faults.Named.named;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.analysis.AttentionCost;
import io.multihead.analysis.HeadPruning;
import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.AttentionState;
import io.multihead.attention.Mask;
import io.multihead.attention.Softmax;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.internal.layout.Positions;
import io.multihead.nn.Gelu;
import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.position.Alibi;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceGemm;
import io.multihead.reference.ScoreRule;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** These errors name the argument. Without a check, they would cause NaN, an exception of the JDK, or partly written memory. */
class NamedErrorsTest {
    private static final Compute CPU = Compute.serial();

    @Test
    void scalesThatF32CannotHoldAreNamed() {
        named("scale", () -> AttentionOptions.DEFAULT.withScale(1e39));
        named("scale", () -> AttentionOptions.DEFAULT.withScale(-1e300));
        assertEquals(1e38, AttentionOptions.DEFAULT.withScale(1e38).scale().getAsDouble());
    }

    @Test
    void integerLogSumExpIsNamedBeforeAnythingIsWritten() {
        Tensor x = tensor(1, 1, 2, 2);
        Tensor lse = Tensor.view(MemorySegment.ofArray(new byte[2]), DType.I8, Shape.of(1, 1, 2));
        AttentionPass pass = new AttentionPass(
                x, x, x, AttentionOutputs.of(tensor(1, 1, 2, 2)).withLogSumExp(lse), AttentionOptions.DEFAULT);
        Tensor gradient = tensor(1, 1, 2, 2);
        AttentionGradients gradients = AttentionGradients.of(gradient, null, null);
        named("logSumExp", () -> Attention.backward(CPU, pass, x, gradients));
        AttentionState good = new AttentionState(tensor(1, 1, 2, 2), tensor(1, 1, 2));
        AttentionState bad = new AttentionState(tensor(1, 1, 2, 2), lse);
        AttentionState merged = new AttentionState(gradient, tensor(1, 1, 2));
        named("left logSumExp", () -> AttentionState.merge(CPU, bad, good, merged));
        named("right logSumExp", () -> AttentionState.merge(CPU, good, bad, merged));
        assertArrayEquals(new float[4], gradient.toArray());
    }

    @Test
    void sizesAndIndicesOfTheAnalysisAreNamed() {
        named("layers", () -> HeadPruning.ablation(-1, 2, kept -> 1));
        named("heads", () -> HeadPruning.ablation(1, -2, kept -> 1));
        named("heads", () -> HeadPruning.ablation(1 << 20, 1 << 20, kept -> 1));
        named("accuracy", () -> HeadPruning.ablation(1, 1, null));
        named("importance[0]", () -> HeadPruning.greedy(1, 2, kept -> 1, kept -> new double[1][1], 0));
        named("layer", () -> new HeadPruning.Step(-1, 0, 1));
        HeadPruning.Result result = new HeadPruning.Result(1, List.of(), new boolean[][] {{true, false}});
        named("layer", () -> result.survivors(99));
        named("layer", () -> result.survivors(-1));
        assertArrayEquals(new int[] {0}, result.survivors(0));
        AttentionCost cost = new AttentionCost(64, 4);
        named("length", () -> cost.operations(AttentionCost.Component.SCORES, -1));
        named("length", () -> cost.recordedBytes(-1));
        named("length", () -> cost.weightBytes(Long.MAX_VALUE));
        message("length: 1073741824; expected a cost below 2^62", () -> cost.weightBytes(1L << 30));
        message("length: 536870912; expected a cost below 2^62", () -> cost.weightBytes(1L << 29));
        named("hidden", () -> cost.feedForwardParameters(-1, true));
        named("embedDim", () -> new AttentionCost(1L << 40, 1));
        assertEquals(0, cost.weightBytes(0));
        assertEquals(4 * 4 * 100 * 100, cost.weightBytes(100));
        assertEquals(2 * 64 * 100 + 100 + 64, cost.feedForwardParameters(100, true));
    }

    @Test
    void pairsThatDoNotExistAreNamed() {
        for (RopeScaling scaling : List.of(
                RopeScaling.NONE, new RopeScaling.NtkAware(2), RopeScaling.Yarn.of(2, 8), new RopeScaling.Linear(2))) {
            named("pair", () -> scaling.frequency(-1, 8, 10_000));
            named("pair", () -> scaling.frequency(4, 8, 10_000));
            named("rotaryDims", () -> scaling.frequency(0, -8, 10_000));
            named("theta", () -> scaling.frequency(0, 8, Double.NaN));
        }
        named("heads", () -> Alibi.slopes(Integer.MAX_VALUE));
    }

    @Test
    void backwardToNoInputIsNamed() {
        try (Pass pass = Gelu.erf().record(CPU, tensor(2), tensor(2))) {
            named("inputGradient", () -> pass.backward(tensor(2), null));
        }
    }

    @Test
    void nullsAreNamed() {
        Tensor a = tensor(2, 2);
        named("options", () -> Gemm.multiply(CPU, a, a, tensor(2, 2), null));
        named("cpu", () -> Gemm.multiply(null, a, a, tensor(2, 2), GemmOptions.DEFAULT));
        named("options", () -> Softmax.forward(CPU, a, tensor(2, 2), null, null));
        named("values", () -> Tensor.of((float[]) null));
        named("values", () -> Tensor.of((double[]) null));
        named("flags", () -> Tensor.of((boolean[]) null));
        named("dims", () -> a.reshape((long[]) null));
        named("target", () -> a.copyTo(null));
        named("other", () -> a.overlaps(null));
        named("shape", () -> Tensor.view(MemorySegment.NULL, DType.F32, null));
        named("other", () -> Mask.CAUSAL.and(null));
        named("queryOffset", () -> Mask.queryOffset((long[]) null));
        named("keyLengths", () -> Mask.keyLengths((long[]) null));
        named("parts[1]", () -> Sequence.of(new Sequence.Part("a", Gelu.erf()), null));
        named("stack[0]", () -> Sequence.of("layers.", Collections.singletonList((Layer) null)));
        KeyValueCache.Config config = KeyValueCache.Config.of(1, 1, 4);
        named("ropes", () -> config.withRopes((Rope[]) null));
        named("ropes[0]", () -> config.withRopes((Rope) null));
        named("tensors \"a\"", () -> Safetensors.write(Path.of("never-written"), holding("a"), Map.of()));
        named("tensors", () -> Safetensors.write(Path.of("never-written"), null, Map.of()));
        named("metadata", () -> Safetensors.write(Path.of("never-written"), Map.of(), null));
    }

    /** The position overflows when it is converted to bytes. Without a check, the call would read the first element. */
    @Test
    void positionsThatOverflowAreOutOfBounds() {
        Tensor x = tensor(2, 2);
        for (long position : new long[] {1L << 62, -(1L << 62), Long.MIN_VALUE, -1, 4}) {
            assertThrows(IndexOutOfBoundsException.class, () -> Positions.get(x, position));
            assertThrows(IndexOutOfBoundsException.class, () -> Positions.set(x, 1, position));
        }
        assertArrayEquals(new float[4], x.toArray());
    }

    @Test
    void readOnlyTensorsAreNamed() {
        MemorySegment memory = MemorySegment.ofArray(new float[4]).asReadOnly();
        Tensor x = Tensor.view(memory, DType.F32, Shape.of(4));
        named("tensor", () -> x.set(1, 0));
        named("tensor", () -> Positions.set(x, 1, 0));
    }

    private static Map<String, Tensor> holding(String name) {
        Map<String, Tensor> map = new HashMap<>();
        map.put(name, null);
        return map;
    }

    @Test
    void aShapeOfMillionsOfAxesIsRefusedInFewWords() {
        String ones = "1,".repeat(3_000_000) + "1";
        String header = "{\"t\":{\"dtype\":\"F32\",\"shape\":[" + ones + "],\"data_offsets\":[0,4]}}";
        RuntimeException fault = named("tensor \"t\"", () -> Safetensors.parse(file(header, 4)));
        assertTrue(fault.getMessage().length() < 3000, fault.getMessage().length() + " characters");
        long[] dims = new long[65];
        Arrays.fill(dims, 1);
        named("shape", () -> Shape.of(dims));
        assertEquals(1, tensor(Arrays.copyOf(dims, 64)).toArray().length);
    }

    @Test
    void aMissingTensorIsReportedInFewWords() {
        StringBuilder header = new StringBuilder("{");
        for (int i = 0; i < 100_000; i++) {
            String name = "a.rather.long.name.of.a.tensor." + i;
            header.append(i == 0 ? "" : ",").append("\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[0],");
            header.append("\"data_offsets\":[0,0]}");
        }
        Safetensors file = Safetensors.parse(file(header + "}", 0));
        RuntimeException fault = named("tensor \"missing\"", () -> file.get("missing"));
        assertTrue(fault.getMessage().length() < 1000, fault.getMessage().length() + " characters");
        assertTrue(fault.getMessage().contains("one of 100000, such as [a.rather"), fault.getMessage());
    }

    private static MemorySegment file(String header, int dataBytes) {
        byte[] json = header.getBytes(StandardCharsets.UTF_8);
        MemorySegment file = MemorySegment.ofArray(new byte[8 + json.length + dataBytes]);
        file.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, json.length);
        MemorySegment.copy(json, 0, file, ValueLayout.JAVA_BYTE, 8, json.length);
        return file;
    }

    @Test
    void theReferenceChecksItsArguments() {
        Tensor x = tensor(1, 2, 3, 4);
        named("key", () -> ReferenceAttention.forward(x, tensor(1, 2, 3, 5), x, 1, ScoreRule.NONE));
        named("query", () -> ReferenceAttention.forward(x, tensor(1, 3, 3, 4), tensor(1, 3, 3, 4), 1, ScoreRule.NONE));
        named("rule", () -> ReferenceAttention.forward(x, x, x, 1, null));
        named("b", () -> ReferenceGemm.multiply(tensor(2, 3), tensor(2, 3), tensor(2, 3), 1, 0, null));
        named("lengths", () -> ScoreRule.keyLengths());
    }

    private static Tensor tensor(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }
}
