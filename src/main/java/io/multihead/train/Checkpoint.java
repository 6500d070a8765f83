package io.multihead.train;

import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A safetensors file from which training continues: the parameters, the state of the optimizer, a description of the model, and counters of the
 * caller, such as the step, the position in the data and the seed of dropout. Training that continues from it has the same bits as uninterrupted
 * training. Stateless.
 */
public final class Checkpoint {
    private static final String PARAMETER = "parameter.";
    private static final String OPTIMIZER = "optimizer.";
    private static final String MODEL = "model";
    private static final String COUNTER = "counter.";

    private Checkpoint() {}

    /**
     * Writes a checkpoint. The file appears under its name only when it is complete, so after an interruption the
     * earlier file is unchanged.
     *
     * @param file the file to write or to replace
     * @param model a description that must be equal when the file is loaded: architecture and sizes
     * @param counters numbers of the caller, by name
     * @param parameters by name
     * @param optimizer the optimizer whose state is saved
     * @throws IOException if writing fails; an existing file is then unchanged
     */
    public static void save(
            Path file, String model, Map<String, Long> counters, Map<String, Tensor> parameters, Optimizer optimizer)
            throws IOException {
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put(MODEL, Checks.notNull(model, MODEL));
        Checks.notNull(counters, "counters")
                .forEach((name, value) -> metadata.put(
                        COUNTER + Checks.notNull(name, "name in counters"),
                        String.valueOf(Checks.notNull(value, "counter " + name))));
        Safetensors.write(Checks.notNull(file, "file"), tensors(parameters, optimizer), metadata);
    }

    /**
     * Loads a checkpoint into parameters and optimizer.
     *
     * @param file written by {@link #save}
     * @param model the description, which must equal the saved one
     * @param parameters parameters to overwrite, of the saved types and shapes
     * @param optimizer the optimizer, whose state is replaced
     * @return the counters
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is not a checkpoint, is truncated, or belongs to another model or optimizer;
     *     nothing changes
     */
    public static Map<String, Long> load(Path file, String model, Map<String, Tensor> parameters, Optimizer optimizer)
            throws IOException {
        Checks.notNull(model, MODEL);
        Map<String, Tensor> expected = tensors(parameters, optimizer);
        try (Arena arena = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(arena, Checks.notNull(file, "file"));
            return Checks.in(file, () -> {
                Map<String, Long> counters = counters(saved);
                String found = saved.metadata().get(MODEL);
                if (!model.equals(found)) {
                    throw Checks.fail(MODEL, String.valueOf(found), "expected " + model);
                }
                requireSame(saved, expected);
                Map<String, Tensor> state = new LinkedHashMap<>();
                optimizer.state().keySet().forEach(name -> state.put(name, saved.get(OPTIMIZER + name)));
                optimizer.restore(state);
                parameters.forEach((name, tensor) -> saved.get(PARAMETER + name).copyTo(tensor));
                return counters;
            });
        }
    }

    /**
     * Reads only the counters of a checkpoint, to decide whether to continue from it.
     *
     * @param file written by {@link #save}
     * @return the counters by name, unmodifiable
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is not a checkpoint or is truncated
     */
    public static Map<String, Long> counters(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(arena, Checks.notNull(file, "file"));
            return Checks.in(file, () -> counters(saved));
        }
    }

    private static Map<String, Tensor> tensors(Map<String, Tensor> parameters, Optimizer optimizer) {
        Map<String, Tensor> all = new LinkedHashMap<>();
        Checks.notNull(parameters, "parameters").forEach((name, tensor) -> all.put(PARAMETER + name, tensor));
        Checks.notNull(optimizer, "optimizer").state().forEach((name, tensor) -> all.put(OPTIMIZER + name, tensor));
        return all;
    }

    private static Map<String, Long> counters(Safetensors saved) {
        if (!saved.metadata().containsKey(MODEL)) {
            throw Checks.fail(
                    "metadata", saved.metadata().keySet().toString(), "expected the metadata of a checkpoint");
        }
        Map<String, Long> counters = new LinkedHashMap<>();
        saved.metadata().forEach((key, value) -> {
            if (key.startsWith(COUNTER)) {
                counters.put(key.substring(COUNTER.length()), number(key, value));
            }
        });
        return Collections.unmodifiableMap(counters);
    }

    private static long number(String key, String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw Checks.fail(key, text, "expected an integer");
        }
    }

    private static void requireSame(Safetensors saved, Map<String, Tensor> expected) {
        Set<String> missing = new TreeSet<>(expected.keySet());
        missing.removeAll(saved.names());
        Set<String> surplus = new TreeSet<>(saved.names());
        surplus.removeAll(expected.keySet());
        if (!missing.isEmpty() || !surplus.isEmpty()) {
            throw Checks.fail("tensors", surplus.toString(), "expected " + missing + " in their place");
        }
        expected.forEach((name, tensor) -> {
            Tensor found = saved.get(name);
            if (found.dtype() != tensor.dtype()) {
                throw Checks.fail(name, String.valueOf(found.dtype()), "expected " + tensor.dtype());
            }
            if (!found.shape().equals(tensor.shape())) {
                throw Checks.fail(name, "shape " + found.shape(), "expected " + tensor.shape());
            }
        });
    }
}
