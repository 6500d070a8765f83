package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints restore the state, refuse damaged files, and are complete after an interruption. */
class CheckpointTest {
    private static final Map<String, Long> COUNTERS = Map.of("step", 3L, "seed", -4L, "data", Long.MAX_VALUE);

    @TempDir
    private Path folder;

    @Test
    void everythingComesBackWithItsBits() throws IOException {
        Map<String, Tensor> parameters = parameters(1);
        Optimizer optimizer = adamW(parameters);
        step(optimizer, 3);
        Path file = save("model", parameters, optimizer);
        Map<String, Tensor> others = parameters(2);
        Optimizer resumed = adamW(others);
        assertEquals(COUNTERS, Checkpoint.counters(file));
        assertEquals(COUNTERS, Checkpoint.load(file, "model", others, resumed));
        step(optimizer, 4);
        step(resumed, 4);
        parameters.forEach((name, tensor) ->
                assertArrayEquals(tensor.toArray(), others.get(name).toArray(), name));
        optimizer
                .state()
                .forEach((name, tensor) -> assertArrayEquals(
                        tensor.toArray(), resumed.state().get(name).toArray(), name));
    }

    @Test
    void anotherModelOptimizerTypeOrShapeChangesNothing() throws IOException {
        Map<String, Tensor> parameters = parameters(1);
        Path file = save("one", parameters, adamW(parameters));
        refuses(file, "two", "model: one; expected two");
        Path sgd = save("one", parameters, Sgd.of(parameters, 0.5));
        refuses(sgd, "one", "tensors: [optimizer.velocity.bias, optimizer.velocity.weight]; expected [");
        rewrite(
                file(parameters),
                (tensors, metadata) ->
                        tensors.compute("parameter.bias", (name, bias) -> bias.copy(Arena.ofAuto(), DType.F16)));
        refuses(folder.resolve("checkpoint.safetensors"), "one", "parameter.bias: F16; expected F32");
        rewrite(
                file(parameters),
                (tensors, metadata) -> tensors.put("optimizer.first.bias", Tensor.of(new float[3], 3)));
        refuses(folder.resolve("checkpoint.safetensors"), "one", "optimizer.first.bias: shape [3]; expected [2]");
        rewrite(file(parameters), (tensors, metadata) -> metadata.put("counter.step", "many"));
        refuses(folder.resolve("checkpoint.safetensors"), "one", "counter.step: many; expected an integer");
        rewrite(file(parameters), (tensors, metadata) -> metadata.remove("model"));
        refuses(folder.resolve("checkpoint.safetensors"), "one", "metadata: [");
    }

    @Test
    void aFileThatIsCutOffChangesNothing() throws IOException {
        Map<String, Tensor> parameters = parameters(1);
        Path file = save("one", parameters, adamW(parameters));
        byte[] whole = Files.readAllBytes(file);
        for (int length : new int[] {0, 7, 100, whole.length / 2, whole.length - 1}) {
            Files.write(file, Arrays.copyOf(whole, length));
            refuses(file, "one", "");
        }
        Map<String, Tensor> others = parameters(2);
        assertThrows(IOException.class, () -> Checkpoint.load(folder.resolve("none"), "one", others, adamW(others)));
        assertThrows(IOException.class, () -> Checkpoint.counters(folder.resolve("none")));
    }

    @Test
    void aFailureWhileSavingLeavesTheFormerFile() throws IOException {
        Map<String, Tensor> parameters = parameters(1);
        Path file = save("one", parameters, adamW(parameters));
        byte[] before = Files.readAllBytes(file);
        Arena arena = Arena.ofConfined();
        Map<String, Tensor> gone = new HashMap<>(parameters);
        gone.put("gone", Tensor.allocate(arena, DType.F32, Shape.of(1 << 16)));
        arena.close();
        assertThrows(
                IllegalStateException.class, () -> Checkpoint.save(file, "one", COUNTERS, gone, Sgd.of(parameters, 0)));
        assertArrayEquals(before, Files.readAllBytes(file));
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.count(), "nothing half-written is left");
        }
    }

    private Path file(Map<String, Tensor> parameters) throws IOException {
        return save("one", parameters, adamW(parameters));
    }

    private Path save(String model, Map<String, Tensor> parameters, Optimizer optimizer) throws IOException {
        Path file = folder.resolve("checkpoint.safetensors");
        Checkpoint.save(file, model, COUNTERS, parameters, optimizer);
        return file;
    }

    private static void refuses(Path file, String model, String message) {
        Map<String, Tensor> parameters = parameters(2);
        Optimizer optimizer = adamW(parameters);
        IllegalArgumentException thrown =
                assertThrows(IllegalArgumentException.class, () -> Checkpoint.load(file, model, parameters, optimizer));
        assertTrue(thrown.getMessage().startsWith(file + ": " + message), thrown.getMessage());
        parameters(2)
                .forEach((name, tensor) ->
                        assertArrayEquals(tensor.toArray(), parameters.get(name).toArray(), name));
        optimizer
                .state()
                .forEach((name, tensor) ->
                        assertArrayEquals(new float[(int) tensor.shape().elements()], tensor.toArray(), name));
    }

    private static Map<String, Tensor> parameters(int seed) {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        parameters.put("weight", Tensor.of(new float[] {seed, 2, 3, 4}, 2, 2));
        parameters.put("bias", Tensor.of(new float[] {5, seed}, 2));
        return parameters;
    }

    private static Optimizer adamW(Map<String, Tensor> parameters) {
        return AdamW.of(parameters, AdamW.Options.DEFAULT);
    }

    private static void step(Optimizer optimizer, int number) {
        optimizer.step(
                Compute.serial(),
                Map.of(
                        "weight", Tensor.of(new float[] {number, 0.5f, 0.25f, 1}, 2, 2),
                        "bias", Tensor.of(new float[] {1, number}, 2)),
                0.1);
    }

    private static void rewrite(Path file, BiConsumer<Map<String, Tensor>, Map<String, String>> change)
            throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(arena, file);
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            saved.names().forEach(name -> tensors.put(name, saved.get(name)));
            Map<String, String> metadata = new LinkedHashMap<>(saved.metadata());
            change.accept(tensors, metadata);
            Safetensors.write(file, tensors, metadata);
        }
    }
}
