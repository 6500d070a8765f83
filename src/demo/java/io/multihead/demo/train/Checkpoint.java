package io.multihead.demo.train;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Everything that training goes on from, as one safetensors file: parameters, the optimiser's state, and in its metadata the
 * architecture, the seed and the step. The file appears under its name only when it is whole, so a crash leaves the former one.
 */
public final class Checkpoint {
    private static final String PARAMETER = "parameter.";
    private static final String OPTIMIZER = "optimizer.";
    private static final String ARCHITECTURE = "architecture";
    private static final String SEED = "seed";
    private static final String STEP = "step";

    private Checkpoint() {}

    /**
     * Writes a checkpoint.
     *
     * @param file where; a former file of this name is replaced at the end
     * @param architecture what must be equal to load it again
     * @param seed of the training, which must be equal too
     * @param step steps done
     * @param parameters by name
     * @param optimizer whose state is saved
     * @throws IOException if it cannot be written; a former file is as it was
     */
    public static void save(
            Path file, String architecture, long seed, long step, Map<String, Tensor> parameters, Optimizer optimizer)
            throws IOException {
        Map<String, Tensor> all = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> all.put(PARAMETER + name, tensor));
        optimizer.state().forEach((name, tensor) -> all.put(OPTIMIZER + name, tensor));
        Safetensors.write(
                file, all, Map.of(ARCHITECTURE, architecture, SEED, String.valueOf(seed), STEP, String.valueOf(step)));
    }

    /**
     * Loads a checkpoint into parameters and optimiser.
     *
     * @param file written by {@link #save}
     * @param architecture what the file must have been saved with
     * @param seed what it must have been saved with; earlier files, which do not hold it, are taken with any
     * @param parameters overwritten
     * @param optimizer its state is replaced
     * @return steps done when it was saved
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is no checkpoint, is cut off, or is one of something else; nothing has been
     *     changed then
     */
    public static long load(
            Path file, String architecture, long seed, Map<String, Tensor> parameters, Optimizer optimizer)
            throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(file, arena);
            String found = saved.metadata().get(ARCHITECTURE);
            if (!architecture.equals(found)) {
                throw fail(file, "architecture " + found, "expected " + architecture);
            }
            String begun = saved.metadata().get(SEED);
            if (begun != null && number(file, SEED, begun) != seed) {
                throw fail(file, "begun with seed " + begun, "expected seed " + seed + ", with which it is resumed");
            }
            Map<String, Tensor> expected = new LinkedHashMap<>();
            parameters.forEach((name, tensor) -> expected.put(PARAMETER + name, tensor));
            optimizer.state().forEach((name, tensor) -> expected.put(OPTIMIZER + name, tensor));
            check(file, saved, expected);
            long step = number(file, STEP, saved.metadata().get(STEP));
            if (step < 0) {
                throw fail(file, "step " + step, "expected at least 0");
            }
            Map<String, Tensor> state = new LinkedHashMap<>();
            optimizer.state().forEach((name, tensor) -> state.put(name, saved.get(OPTIMIZER + name)));
            parameters.forEach((name, tensor) -> saved.get(PARAMETER + name).copyTo(tensor));
            optimizer.restore(state);
            return step;
        }
    }

    private static void check(Path file, Safetensors saved, Map<String, Tensor> expected) {
        Set<String> missing = new TreeSet<>(expected.keySet());
        missing.removeAll(saved.names());
        Set<String> surplus = new TreeSet<>(saved.names());
        surplus.removeAll(expected.keySet());
        if (!missing.isEmpty() || !surplus.isEmpty()) {
            throw fail(file, "tensors " + surplus, "expected " + missing + " in their place");
        }
        expected.forEach((name, tensor) -> {
            if (saved.get(name).dtype() != tensor.dtype()) {
                throw fail(file, name + " of " + saved.get(name).dtype(), "expected " + tensor.dtype());
            }
            if (!saved.get(name).shape().equals(tensor.shape())) {
                throw fail(file, name + " " + saved.get(name).shape(), "expected " + tensor.shape());
            }
        });
    }

    private static long number(Path file, String key, String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw fail(file, key + " " + text, "expected a number");
        }
    }

    private static IllegalArgumentException fail(Path file, String actual, String expected) {
        return new IllegalArgumentException(file + ": " + actual + "; " + expected);
    }
}
