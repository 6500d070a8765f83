package io.multihead.cache;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.format.LazyTensor;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The caches of one kind in a session file. If there is only one cache of keys and values, its names have no prefix; if there are several
 * caches, or recurrent states, the names of each cache begin with {@code part P}.
 *
 * @param parts caches of one kind
 * @param layers the part of each layer
 */
record SessionParts(List<? extends SequenceCache> parts, List<Integer> layers) {
    /** The kind of files with recurrent states, or keys of several sizes. */
    static final String FORMAT = "multihead cache session 5";

    private static final String LAYERS = "parts of layers";

    static SessionParts of(SequenceCache cache) {
        List<? extends SequenceCache> parts = cache.parts();
        List<Integer> layers = new ArrayList<>();
        for (int layer = 0; layer < cache.layers(); layer++) {
            layers.add(parts.indexOf(cache.part(layer)));
        }
        return new SessionParts(parts, layers);
    }

    private boolean isPlain() {
        return parts.size() == 1 && parts.get(0) instanceof KeyValueCache;
    }

    private String field(int part) {
        return isPlain() ? "" : "part " + part + " ";
    }

    private String tensor(int part) {
        return isPlain() ? "" : "part." + part + ".";
    }

    /** Fails unless all sequences are open and different. The check uses separate memory, because other threads may read the cache. */
    void requireDistinct(int[] sequences) {
        BitSet seen = new BitSet();
        for (int number : sequences) {
            parts.get(0).length(0, number); // first: only open sequences limit the size of the set
            if (seen.get(number)) {
                throw Checks.fail(
                        "sequences", Arrays.toString(sequences), "expected no sequence twice, as " + number + " is");
            }
            seen.set(number);
        }
    }

    void requireAccess(Compute cpu) {
        for (SequenceCache part : parts) {
            if (part instanceof KeyValueCache keys) {
                keys.pool().requireAccess(cpu);
            }
        }
    }

    Map<String, LazyTensor> save(Compute cpu, Map<String, String> metadata, int[] sequences) {
        requireAccess(cpu);
        Map<String, LazyTensor> tensors = new LinkedHashMap<>();
        for (int i = 0; i < parts.size(); i++) {
            String field = field(i);
            Map<String, String> ofPart = parts.get(i) instanceof KeyValueCache keys
                    ? keysAndValues(cpu, keys, sequences, tensor(i), tensors)
                    : SessionStates.save((RecurrentCache) parts.get(i), sequences, tensor(i), tensors);
            ofPart.forEach((name, text) -> metadata.put(field + name, text));
        }
        if (!isPlain()) {
            metadata.put(SessionHeader.FORMAT_FIELD, FORMAT);
            metadata.put(LAYERS, SessionHeader.joined(layers));
        }
        return tensors;
    }

    private static Map<String, String> keysAndValues(
            Compute cpu, KeyValueCache cache, int[] sequences, String prefix, Map<String, LazyTensor> tensors) {
        List<Sequence> saved = new ArrayList<>();
        for (int number : sequences) {
            saved.add(cache.sequences().get(number));
        }
        SessionBlocks blocks = new SessionBlocks(cache.pool(), saved);
        Config config = cache.config();
        for (int layer = 0; layer < config.layers(); layer++) {
            for (StoredPart part : StoredPart.values()) {
                if (part.isIn(config)) {
                    int of = layer;
                    DType dtype = part.dtype(config);
                    Shape shape = part.shape(config, blocks.tokens());
                    tensors.put(prefix + part.name(layer), new LazyTensor(dtype, shape, arena -> {
                        Tensor tensor = Tensor.allocate(arena, dtype, shape);
                        read(cpu, cache, blocks, of, part, tensor);
                        return tensor;
                    }));
                }
            }
        }
        return SessionHeader.write(config, cache.window(), saved, blocks);
    }

    private static void read(
            Compute cpu, KeyValueCache cache, SessionBlocks blocks, int layer, StoredPart part, Tensor to) {
        try (PageCopy call = Operation.open(cpu, PageCopy.CALL)) {
            call.bind(cache.pool(), layer, PageCopy.Way.READ);
            call.bindElements(part == StoredPart.KEY ? to : null, part == StoredPart.VALUE ? to : null);
            call.bindScales(part == StoredPart.KEY_SCALE ? to : null, part == StoredPart.VALUE_SCALE ? to : null);
            blocks.addRuns(call, layer);
            call.run();
        }
    }

    /** Opens the sequences of a file, and returns their numbers, the same in all parts. */
    int[] load(Compute cpu, Safetensors file, @Nullable SessionChecksums checksums) {
        boolean isWhole = isOfOneCache(file);
        if (!isPlain() && !isWhole) {
            require(file, SessionHeader.FORMAT_FIELD, FORMAT);
            require(file, LAYERS, SessionHeader.joined(layers));
            file.get(SessionChecksums.NAME); // files of this version without checksums are refused
        }
        List<SessionPart> loaders = new ArrayList<>();
        for (int i = 0; i < parts.size(); i++) {
            Map<String, String> metadata = metadata(file, isWhole ? "" : field(i));
            loaders.add(
                    parts.get(i) instanceof KeyValueCache keys
                            ? loader(keys, file, metadata, i, isWhole)
                            : new SessionStates((RecurrentCache) parts.get(i), file, metadata, tensor(i)));
        }
        loaders.forEach(SessionPart::requireRoom);
        if (checksums != null) {
            checksums.requireTensors();
        }
        List<int[]> opened = new ArrayList<>();
        try {
            loaders.forEach(loader -> opened.add(loader.open(cpu)));
            for (int[] each : opened) {
                if (!Arrays.equals(each, opened.get(0))) {
                    throw Checks.fail(
                            "sequences",
                            Arrays.toString(each),
                            "expected as many in each part, " + Arrays.toString(opened.get(0)));
                }
            }
            return opened.get(0);
        } catch (Throwable failed) {
            for (int i = 0; i < opened.size(); i++) {
                for (int number : opened.get(i)) {
                    parts.get(i).close(number);
                }
            }
            throw failed;
        }
    }

    /**
     * Returns whether a file has one cache of all layers, like files of versions 1 to 4, but this cache has several parts of keys and
     * values.
     */
    private boolean isOfOneCache(Safetensors file) {
        return !isPlain()
                && !file.metadata().containsKey(LAYERS)
                && file.metadata().containsKey("layers")
                && parts.stream().allMatch(KeyValueCache.class::isInstance);
    }

    private SessionLoader loader(
            KeyValueCache cache, Safetensors file, Map<String, String> metadata, int part, boolean isWhole) {
        int[] own = IntStream.range(0, cache.layers()).toArray();
        int[] ofWhole = IntStream.range(0, layers.size())
                .filter(layer -> layers.get(layer) == part)
                .toArray();
        return isWhole
                ? new SessionLoader(cache, file, metadata, "", ofWhole, layers.size())
                : new SessionLoader(cache, file, metadata, tensor(part), own, own.length);
    }

    private static void require(Safetensors file, String field, String expected) {
        String actual = file.metadata().get(field);
        if (!expected.equals(actual)) {
            throw Checks.fail(field, String.valueOf(actual), "expected " + expected + ", as the cache has");
        }
    }

    /** Returns a file's metadata of one part, without the prefix of names. */
    private static Map<String, String> metadata(Safetensors file, String prefix) {
        Map<String, String> metadata = new LinkedHashMap<>();
        file.metadata().forEach((name, text) -> {
            if (name.startsWith(prefix)) {
                metadata.put(name.substring(prefix.length()), text);
            }
        });
        return metadata;
    }
}
