package io.multihead.fuzz;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.CacheSession;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Loads a session file of arbitrary bytes into caches of several kinds. A rejected file does not change a cache.
 * Accepted sequences can be used, and can be saved and loaded again with the same bits.
 */
public final class CacheSessionFuzz {
    private static final Compute CPU = Compute.serial();
    private static final Path FILE = Scratch.folder("session").resolve("session");
    private static final Path COPY = FILE.resolveSibling("copy");
    private static final Rope ROPE = Rope.of(Rope.Config.of(2));

    /** The caches of the sessions in the seeds. */
    static final List<Config> CONFIGS = List.of(
            new Config(1, 1, 2, 1, CacheFormat.F32, List.of()),
            new Config(2, 1, 2, 1, CacheFormat.I8, List.of()),
            new Config(1, 2, 2, 2, CacheFormat.BF16, List.of(ROPE)));

    private CacheSessionFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        byte[] file = Framed.file(input);
        Oracle.check(2L * CONFIGS.size() * file.length, () -> check(file));
    }

    private static void check(byte[] file) {
        Scratch.write(FILE, file);
        for (Config config : CONFIGS) {
            check(KeyValueCache.paged(config, 16 * 64 * bytesPerToken(config)));
            KeyValueCache contiguous = KeyValueCache.contiguous(config, 2, 512);
            contiguous.close(0);
            contiguous.close(1);
            check(contiguous);
        }
    }

    private static long bytesPerToken(Config config) {
        return KeyValueCache.contiguous(config, 1, 1).bytesPerToken();
    }

    private static void check(KeyValueCache cache) {
        int other = cache.open();
        long used = cache.usedBytes();
        int[][] loaded = new int[1][];
        // all messages name the file, except messages of a cache without room
        if (!Oracle.accepts("", () -> loaded[0] = CacheSession.load(CPU, cache, FILE))) {
            Oracle.require(cache.usedBytes() == used, cache.usedBytes() + " bytes used after a failed load");
            int next = cache.open();
            Oracle.require(next == other + 1, "a failed load opened sequence " + (other + 1));
            return;
        }
        Oracle.uncounted(() -> {
            use(cache, loaded[0]);
            again(cache, loaded[0]);
        });
        for (int sequence : loaded[0]) {
            cache.close(sequence);
        }
        Oracle.require(cache.usedBytes() == used, cache.usedBytes() + " bytes used after all was closed");
    }

    /** Saves sequences, and loads them into an empty cache of the same size. */
    private static void again(KeyValueCache cache, int[] sequences) {
        try {
            Files.deleteIfExists(COPY);
            CacheSession.save(CPU, cache, COPY, sequences);
            KeyValueCache copy = KeyValueCache.paged(cache.config(), 64 * 64 * cache.bytesPerToken());
            int[] copies = CacheSession.load(CPU, copy, COPY);
            for (int i = 0; i < copies.length; i++) {
                for (int layer = 0; layer < cache.config().layers(); layer++) {
                    Oracle.require(
                            Arrays.equals(attend(cache, layer, sequences[i]), attend(copy, layer, copies[i])),
                            "other bits after a second load");
                }
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** Makes each kind of call. Calls for which the cache has no room are rejected. */
    private static void use(KeyValueCache cache, int[] sequences) {
        Config config = cache.config();
        for (int sequence : sequences) {
            Oracle.accepts("", () -> {
                int fork = cache.fork(sequence);
                try {
                    Oracle.accepts("", () -> append(cache, config, fork));
                    for (int layer = 0; layer < config.layers(); layer++) {
                        attend(cache, layer, fork);
                    }
                    long length = cache.length(0, fork);
                    Oracle.accepts("", () -> cache.truncate(fork, Math.max(0, length - 1)));
                    Oracle.accepts("", () -> cache.slide(fork, cache.firstKey(fork) + 1));
                    attend(cache, 0, fork);
                } finally {
                    cache.close(fork);
                }
            });
        }
    }

    private static void append(KeyValueCache cache, Config config, int sequence) {
        Tensor key = ones(config.heads(), 3, config.headDim());
        Tensor value = ones(config.heads(), 3, config.valueDim());
        for (int layer = 0; layer < config.layers(); layer++) {
            cache.append(CPU, layer, sequence, key, value);
        }
    }

    private static int[] attend(KeyValueCache cache, int layer, int sequence) {
        Config config = cache.config();
        long tokens = Math.clamp(cache.length(layer, sequence) - cache.firstKey(sequence), 0, 2);
        Tensor query = ones(2L * config.heads(), tokens, config.headDim());
        Tensor output = ones(2L * config.heads(), tokens, config.valueDim());
        Attention.forward(
                CPU, query, cache.view(layer, sequence), AttentionOutputs.of(output), AttentionOptions.CAUSAL);
        float[] values = output.toArray();
        int[] bits = new int[values.length];
        Arrays.setAll(bits, i -> Float.floatToIntBits(values[i]));
        return bits;
    }

    private static Tensor ones(long heads, long tokens, long dim) {
        float[] values = new float[(int) (heads * tokens * dim)];
        Arrays.fill(values, 1);
        return Tensor.of(values, 1, heads, tokens, dim);
    }
}
