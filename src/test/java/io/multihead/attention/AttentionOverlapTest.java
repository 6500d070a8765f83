package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * Each tensor that a call writes is placed over each other tensor of the call, in read-only memory, and in memory confined to one thread.
 * The error names the tensor, and nothing is written.
 */
class AttentionOverlapTest {
    private static final Compute CPU = Compute.serial();

    /** The tensors of a call by their names in messages, the names of the written tensors, and the call itself. */
    private record Call(
            Map<String, long[]> tensors, List<String> written, BiConsumer<Compute, Map<String, Tensor>> body) {}

    private static Call forward(ScoreStage stage) {
        Map<String, long[]> tensors = new LinkedHashMap<>();
        tensors.put("query", new long[] {1, 2, 3, 4});
        tensors.put("key", new long[] {1, 2, 5, 4});
        tensors.put("value", new long[] {1, 2, 5, 2});
        tensors.put("mask", new long[] {3, 5});
        tensors.put("output", new long[] {1, 2, 3, 2});
        tensors.put("logSumExp", new long[] {1, 2, 3});
        tensors.put("weights", new long[] {1, 2, 3, 5});
        tensors.put("scores", new long[] {1, 2, 3, 5});
        return new Call(tensors, List.of("output", "logSumExp", "weights", "scores"), (cpu, t) -> {
            AttentionOutputs outputs = new AttentionOutputs(t.get("output"), t.get("logSumExp"), t.get("weights"))
                    .withScores(t.get("scores"), stage);
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.bias(t.get("mask")));
            Attention.forward(cpu, t.get("query"), t.get("key"), t.get("value"), outputs, options);
        });
    }

    private static Call splits() {
        Map<String, long[]> tensors = new LinkedHashMap<>();
        tensors.put("query", new long[] {1, 2, 3, 4});
        tensors.put("key", new long[] {1, 2, 5, 4});
        tensors.put("value", new long[] {1, 2, 5, 2});
        tensors.put("mask", new long[] {3, 5});
        tensors.put("states", new long[] {1, 2, 3, 1, 101});
        return new Call(tensors, List.of("states"), (cpu, t) -> {
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.bias(t.get("mask")));
            KeyValueView shard = KeyValueView.of(t.get("key"), t.get("value"));
            AttentionSplits.forward(cpu, t.get("query"), shard, t.get("states"), options);
        });
    }

    private static Call softmax(boolean logarithm) {
        Map<String, long[]> tensors = new LinkedHashMap<>();
        tensors.put("scores", new long[] {2, 3});
        tensors.put("mask", new long[] {3});
        tensors.put("output", new long[] {2, 3});
        tensors.put("logSumExp", new long[] {2});
        return new Call(tensors, List.of("output", "logSumExp"), (cpu, t) -> {
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.bias(t.get("mask")));
            if (logarithm) {
                Softmax.logForward(cpu, t.get("scores"), t.get("output"), t.get("logSumExp"), options);
            } else {
                Softmax.forward(cpu, t.get("scores"), t.get("output"), t.get("logSumExp"), options);
            }
        });
    }

    private static Call softmaxGradient() {
        Map<String, long[]> tensors = new LinkedHashMap<>();
        tensors.put("output", new long[] {2, 3});
        tensors.put("outputGradient", new long[] {2, 3});
        tensors.put("scoresGradient", new long[] {2, 3});
        return new Call(
                tensors,
                List.of("scoresGradient"),
                (cpu, t) -> Softmax.backward(
                        cpu,
                        t.get("output"),
                        t.get("outputGradient"),
                        t.get("scoresGradient"),
                        AttentionOptions.DEFAULT));
    }

    private static Call merge() {
        Map<String, long[]> tensors = new LinkedHashMap<>();
        for (String part : List.of("left", "right", "merged")) {
            tensors.put(part + " output", new long[] {1, 2, 3, 4});
            tensors.put(part + " logSumExp", new long[] {1, 2, 3});
        }
        return new Call(
                tensors,
                List.of("merged output", "merged logSumExp"),
                (cpu, t) -> AttentionState.merge(
                        cpu,
                        new AttentionState(t.get("left output"), t.get("left logSumExp")),
                        new AttentionState(t.get("right output"), t.get("right logSumExp")),
                        new AttentionState(t.get("merged output"), t.get("merged logSumExp"))));
    }

    private static List<Call> calls() {
        List<Call> calls =
                new ArrayList<>(List.of(splits(), softmax(false), softmax(true), softmaxGradient(), merge()));
        for (ScoreStage stage : ScoreStage.values()) {
            calls.add(forward(stage));
        }
        return calls;
    }

    private static Map<String, Tensor> allocate(Call call) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        call.tensors.forEach((name, dims) -> {
            tensors.put(name, Tensor.of(new float[(int) Shape.of(dims).elements()], dims));
            tensors.get(name).fill(0.5);
        });
        return tensors;
    }

    @Test
    void anOutputOverAnotherTensorIsRefused() {
        for (Call call : calls()) {
            call.body.accept(CPU, allocate(call));
            for (String written : call.written) {
                for (String other : call.tensors.keySet()) {
                    if (!other.equals(written)) {
                        overlap(call, written, other);
                    }
                }
            }
        }
    }

    /** The last element of the written tensor is the first element of the other tensor. */
    private static void overlap(Call call, String written, String other) {
        Map<String, Tensor> tensors = allocate(call);
        long[] dims = call.tensors.get(written);
        long[] otherDims = call.tensors.get(other);
        long first = Shape.of(dims).elements();
        float[] memory = new float[(int) (first + Shape.of(otherDims).elements())];
        Tensor whole = Tensor.of(memory);
        whole.fill(0.25);
        tensors.put(written, whole.slice(0, 0, first).reshape(dims));
        tensors.put(
                other,
                whole.slice(0, first - 1, first - 1 + Shape.of(otherDims).elements())
                        .reshape(otherDims));
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> call.body.accept(CPU, tensors), written + other);
        String message = refused.getMessage();
        // if both tensors are outputs, the message may name either one first; parts of a state are named after the
        // state
        String plain = other.replace(" output", "").replace(" logSumExp", "");
        boolean named = message.startsWith(written + ": ") && message.contains(" overlaps " + other + ";")
                || message.startsWith(written + ": ") && message.contains(" overlaps " + plain + ";")
                || call.written.contains(other)
                        && message.startsWith(other + ": ")
                        && message.contains(" overlaps " + written + ";");
        assertTrue(named, written + " over " + other + ": " + message);
        for (float value : memory) {
            assertEquals(0.25f, value, written + " over " + other);
        }
    }

    @Test
    void anOutputThatCannotBeWrittenIsRefused() {
        for (Call call : calls()) {
            for (String written : call.written) {
                Map<String, Tensor> tensors = allocate(call);
                Shape shape = tensors.get(written).shape();
                MemorySegment fixed =
                        MemorySegment.ofArray(new float[(int) shape.elements()]).asReadOnly();
                tensors.put(written, Tensor.view(fixed, DType.F32, shape));
                fails(
                        written + ": read-only memory; expected memory that can be written",
                        () -> call.body.accept(CPU, tensors));
                tensors.put(written, Tensor.of(new float[1]).broadcast(shape.toArray()));
                fails(
                        written + ": " + tensors.get(written) + "; expected every element to have its own storage",
                        () -> call.body.accept(CPU, tensors));
                call.written.forEach(name -> assertUnchanged(tensors, name, written));
            }
        }
    }

    @Test
    void integersWhereNumbersAreExpectedAreRefused() {
        for (Call call : calls()) {
            for (String name : call.tensors.keySet()) {
                boolean gradient = call.tensors.containsKey("outputGradient");
                if (call.written.contains(name) || gradient || name.endsWith(" logSumExp")) {
                    Map<String, Tensor> tensors = allocate(call);
                    Shape shape = tensors.get(name).shape();
                    tensors.put(
                            name,
                            Tensor.view(MemorySegment.ofArray(new byte[(int) shape.elements()]), DType.I8, shape));
                    fails(
                            name + ": I8 " + shape + "; expected a floating-point element type",
                            () -> call.body.accept(CPU, tensors));
                }
            }
        }
    }

    private static void assertUnchanged(Map<String, Tensor> tensors, String name, String written) {
        if (!name.equals(written)) {
            float[] expected = new float[(int) tensors.get(name).shape().elements()];
            Arrays.fill(expected, 0.5f);
            assertArrayEquals(expected, tensors.get(name).toArray(), name);
        }
    }

    @Test
    void memoryOfOneThreadIsRefusedByName() {
        try (Compute two = Compute.threads(2);
                Arena arena = Arena.ofConfined()) {
            for (Call call : calls()) {
                for (String name : call.tensors.keySet()) {
                    Map<String, Tensor> tensors = allocate(call);
                    tensors.put(name, Tensor.zeros(arena, DType.F32, call.tensors.get(name)));
                    IllegalArgumentException refused =
                            assertThrows(IllegalArgumentException.class, () -> call.body.accept(two, tensors), name);
                    boolean state = name.startsWith("left ") || name.startsWith("right ");
                    String argument = state ? name.substring(0, name.indexOf(' ')) : name;
                    assertTrue(
                            refused.getMessage().startsWith(argument + ": memory of an arena confined to this thread"),
                            name + ": " + refused.getMessage());
                    call.written.forEach(other -> assertUnchanged(tensors, other, name));
                }
            }
        }
    }

    @Test
    void anOutputOfOtherSizesIsRefused() {
        for (Call call : calls()) {
            for (String written : call.written) {
                long[] dims = call.tensors.get(written);
                for (int axis = 0; axis < dims.length; axis++) {
                    long[] other = dims.clone();
                    other[axis]++;
                    Map<String, Tensor> tensors = allocate(call);
                    tensors.put(
                            written, Tensor.of(new float[(int) Shape.of(other).elements()], other));
                    assertThrows(
                            IllegalArgumentException.class,
                            () -> call.body.accept(CPU, tensors),
                            written + " " + tensors.get(written).shape());
                    call.written.forEach(name -> assertUnchanged(tensors, name, written));
                }
            }
        }
    }

    private static void fails(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
