package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.support.SmallArena;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests when a paged cache takes more memory from its arena. The arena has 64 MiB: 128 pages of 512 KiB, half of them in one slab. */
class PagePoolMemoryTest {
    private static final Compute SERIAL = Compute.serial();
    private static final long SLAB = 64L << 20;
    private static final int PAGES = 128;

    private final Arena memory = Arena.ofConfined();
    private final SmallArena small = new SmallArena(memory, SLAB + (1 << 20), SLAB + (1 << 20));
    private final KeyValueCache cache = KeyValueCache.paged(small, Config.of(1, 8, 128), 8 * SLAB);

    @AfterEach
    void close() {
        memory.close();
    }

    @Test
    void aSequenceThatSlidesStaysInTheMemoryThatItHas() {
        int sequence = cache.open();
        Tensor tokens = Tensor.allocate(memory, DType.F32, Shape.of(1, 8, 512, 128));
        for (int length = 512; length <= 3 * 64 * PAGES; length += 512) {
            cache.append(SERIAL, 0, sequence, tokens, tokens);
            cache.slide(sequence, length - 256);
        }
        assertEquals(256, cache.usedBytes() / cache.bytesPerToken());
    }

    /** This holds for every element type. Scales are in the same memory and are counted once. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16", "F16", "I8"})
    void theArenaIsAskedForTheBytesOfAllTokens(DType dtype) {
        Config config = Config.of(1, 3, 6).withValueDim(40).withFormat(CacheFormat.of(dtype));
        long bytes = 512 * KeyValueCache.contiguous(config, 1, 1).bytesPerToken();
        SmallArena all = new SmallArena(memory, bytes, bytes);
        KeyValueCache.contiguous(all, config, 2, 256);
        SmallArena steps = new SmallArena(memory, bytes, bytes);
        KeyValueCache paged = KeyValueCache.paged(steps, config, bytes);
        paged.append(
                SERIAL,
                0,
                paged.open(),
                Tensor.allocate(memory, DType.F32, Shape.of(1, 3, 512, 6)),
                Tensor.allocate(memory, DType.F32, Shape.of(1, 3, 512, 40)));
        assertEquals(0, all.left());
        assertEquals(0, steps.left());
        assertEquals(bytes, paged.usedBytes());
    }

    /** The first token takes eight pages and not a whole slab. */
    @Test
    void aFirstTokenTakesLittleMemory() {
        long before = small.left();
        Tensor token = Tensor.allocate(memory, DType.F32, Shape.of(1, 8, 1, 128));
        cache.append(SERIAL, 0, cache.open(), token, token);
        assertEquals(4L << 20, before - small.left());
    }

    /** Two sequences grow alternately over slabs of several sizes, and are compared with a cache whose slabs have one size. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "F16", "I8"})
    void slabsOfAnySizeHaveTheSameBits(DType dtype) {
        Config config = Config.of(2, 4, 128).withValueDim(96).withFormat(CacheFormat.of(dtype));
        KeyValueCache paged = KeyValueCache.paged(config, 8 * SLAB);
        KeyValueCache contiguous = KeyValueCache.contiguous(config, 2, 2560);
        paged.open();
        paged.open();
        for (int step = 0; step < 4; step++) {
            for (int sequence = 0; sequence < 2; sequence++) {
                for (int layer = 0; layer < 2; layer++) {
                    int seed = 4 * step + 2 * sequence + layer;
                    Tensor key = Tokens.gaussian(1, 4, 640, 128, seed);
                    Tensor value = Tokens.gaussian(1, 4, 640, 96, 100 + seed);
                    paged.append(SERIAL, layer, sequence, key, value);
                    contiguous.append(SERIAL, layer, sequence, key, value);
                }
            }
        }
        for (int sequence = 0; sequence < 2; sequence++) {
            for (int layer = 0; layer < 2; layer++) {
                assertArrayEquals(
                        RandomCache.attend(contiguous, layer, sequence, SERIAL),
                        RandomCache.attend(paged, layer, sequence, SERIAL));
            }
        }
    }

    @Test
    void everyPageIsTakenBeforeMemoryRunsOut() {
        Tensor token = Tensor.allocate(memory, DType.F32, Shape.of(1, 8, 1, 128));
        for (int i = 0; i < PAGES; i++) {
            cache.append(SERIAL, 0, cache.open(), token, token);
        }
        assertEquals(1, small.refusals()); // asked only once, because a refusal may take long
        int last = cache.open();
        assertThrows(OutOfMemoryError.class, () -> cache.append(SERIAL, 0, last, token, token));
        assertEquals(0, cache.length(0, last));
        assertEquals(SLAB, cache.usedBytes());
        cache.close(0);
        cache.append(SERIAL, 0, last, token, token);
        assertEquals(1, cache.length(0, last));
    }
}
