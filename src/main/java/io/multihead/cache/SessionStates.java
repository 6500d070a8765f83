package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.format.LazyTensor;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The recurrent states of a session file: the tensor of each layer has a row for each length to which a sequence can be truncated, and for
 * its present length.
 */
final class SessionStates implements SessionPart {
    private static final String FLOATS = "floats";
    private static final String SEQUENCES = "sequences";
    private static final String LENGTHS = "lengths";

    private final RecurrentCache cache;
    private final Safetensors file;
    private final String prefix;
    /** The lengths of the states of each sequence, in ascending order. The last length is the length of the sequence. */
    private final List<long[]> lengths = new ArrayList<>();

    /** Reads and checks a file's metadata, and the shapes of its tensors. */
    SessionStates(RecurrentCache cache, Safetensors file, Map<String, String> metadata, String prefix) {
        this.cache = cache;
        this.file = file;
        this.prefix = prefix;
        String expected = floats(cache);
        if (!expected.equals(metadata.get(FLOATS))) {
            throw Checks.fail(
                    FLOATS, String.valueOf(metadata.get(FLOATS)), "expected " + expected + ", as the cache has");
        }
        long sequences = SessionHeader.number(metadata, SEQUENCES, 0, Integer.MAX_VALUE);
        int rows = 0;
        for (int i = 0; i < sequences; i++) {
            String name = SessionHeader.name(i, LENGTHS);
            long[] all = SessionHeader.numbers(metadata, name, 0, SessionHeader.POSITIONS);
            boolean ascend = all.length > 0 && all.length <= RecurrentCache.MOST_SNAPSHOTS + 1;
            for (int k = 1; ascend && k < all.length; k++) {
                ascend = all[k] > all[k - 1];
            }
            if (!ascend) {
                throw Checks.fail(name, Arrays.toString(all), "expected one to four, each above the one before");
            }
            lengths.add(all);
            rows += all.length;
        }
        for (int layer = 0; layer < cache.layers(); layer++) {
            Tensor tensor = file.get(name(prefix, layer));
            Shape shape = Shape.of(rows, cache.floats(layer));
            if (tensor.dtype() != DType.F32 || !tensor.shape().equals(shape)) {
                throw Checks.fail(name(prefix, layer), tensor.toString(), "expected F32 " + shape);
            }
        }
    }

    /** Returns the metadata of sequences, and adds their tensors. */
    static Map<String, String> save(
            RecurrentCache cache, int[] sequences, String prefix, Map<String, LazyTensor> tensors) {
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put(FLOATS, floats(cache));
        metadata.put(SEQUENCES, String.valueOf(sequences.length));
        List<long[]> all = new ArrayList<>();
        int rows = 0;
        for (int i = 0; i < sequences.length; i++) {
            long[] lengths = cache.lengths(sequences[i]);
            metadata.put(
                    SessionHeader.name(i, LENGTHS),
                    SessionHeader.joined(Arrays.stream(lengths).boxed().toList()));
            all.add(lengths);
            rows += lengths.length;
        }
        for (int layer = 0; layer < cache.layers(); layer++) {
            int of = layer;
            Shape shape = Shape.of(rows, cache.floats(layer));
            tensors.put(name(prefix, layer), new LazyTensor(DType.F32, shape, arena -> {
                Tensor tensor = Tensor.allocate(arena, DType.F32, shape);
                int row = 0;
                for (int i = 0; i < sequences.length; i++) {
                    for (long length : all.get(i)) {
                        Tensor.of(cache.stateAt(of, sequences[i], length), shape.dim(1))
                                .copyTo(tensor.select(0, row++));
                    }
                }
                return tensor;
            }));
        }
        return metadata;
    }

    private static String name(String prefix, int layer) {
        return prefix + "layer." + layer + ".state";
    }

    private static String floats(RecurrentCache cache) {
        List<Integer> floats = new ArrayList<>();
        for (int layer = 0; layer < cache.layers(); layer++) {
            floats.add(cache.floats(layer));
        }
        return SessionHeader.joined(floats);
    }

    /** Fails if the states exceed the cache's limit. If the heap has too little room for them, the load fails with an OutOfMemoryError. */
    @Override
    public void requireRoom() {
        cache.requireRoom(lengths.stream().mapToLong(all -> all.length).sum());
    }

    @Override
    public int[] open(Compute cpu) {
        int[] numbers = new int[lengths.size()];
        int opened = 0;
        try {
            for (int row = 0; opened < numbers.length; row += lengths.get(opened - 1).length) {
                numbers[opened] = cache.open();
                opened++;
                restore(numbers[opened - 1], lengths.get(opened - 1), row);
            }
            return numbers;
        } catch (Throwable failed) {
            for (int i = 0; i < opened; i++) {
                cache.close(numbers[i]);
            }
            throw failed;
        }
    }

    /** Gives a sequence its states, whose rows begin at an index; the last row is the present state. */
    private void restore(int sequence, long[] all, int row) {
        for (int k = 0; k < all.length; k++) {
            float[][] states = new float[cache.layers()][];
            for (int layer = 0; layer < states.length; layer++) {
                states[layer] = file.get(name(prefix, layer)).select(0, row + k).toArray();
            }
            cache.restore(sequence, all[k], states);
            if (k + 1 < all.length) {
                cache.snapshot(sequence);
            }
        }
    }
}
