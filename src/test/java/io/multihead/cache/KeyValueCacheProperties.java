package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.support.CacheModel;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** Attention over a cache has the same bits as attention over plain lists of tokens, after random sequences of operations. */
@Tag("lanes")
class KeyValueCacheProperties {
    private static final Compute CPU = Compute.serial();
    private static final int LAYERS = 2;
    private static final int HEADS = 2;
    private static final int HEAD_DIM = 5;

    /**
     * Results have the same bits except in i8, where the scale of a key is multiplied into its score instead of its elements. Scores differ
     * by the roundings of two chains of headDim products, each at most 6 x 6, and of a scale in each chain. Weights differ by twice that,
     * and values are at most 6.
     */
    private static final float I8_APART = 2 * (HEAD_DIM + 2) * 0x1p-24f * (HEAD_DIM * 6 * 6) * 2 * 6;

    private static final int VALUE_DIM = 3;
    private static final int BUDGET_PAGES = 9;
    private static final int PAGE = 64;

    enum Kind {
        OPEN,
        APPEND,
        APPEND_MANY,
        FORK,
        TRUNCATE,
        SLIDE,
        CLOSE
    }

    /** An operation on the {@code which}-th open sequence; the meaning of {@code amount} depends on the kind. */
    record Operation(Kind kind, int which, int amount) {}

    @Provide
    Arbitrary<List<Operation>> operations() {
        Arbitrary<Integer> amount = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 5), Arbitraries.integers().between(0, 200));
        return Combinators.combine(
                        Arbitraries.of(
                                Kind.OPEN,
                                Kind.APPEND,
                                Kind.APPEND,
                                Kind.APPEND,
                                Kind.APPEND_MANY,
                                Kind.APPEND_MANY,
                                Kind.FORK,
                                Kind.TRUNCATE,
                                Kind.SLIDE,
                                Kind.CLOSE),
                        Arbitraries.integers().between(0, 3),
                        amount)
                .as(Operation::new)
                .list()
                .ofMaxSize(25);
    }

    @Property(tries = 400, edgeCases = EdgeCasesMode.NONE)
    void holdsWhatAListHolds(
            @ForAll("operations") List<Operation> operations,
            @ForAll boolean contiguous,
            @ForAll CacheFormat format,
            @ForAll long seed) {
        Config config =
                Config.of(LAYERS, HEADS, HEAD_DIM).withValueDim(VALUE_DIM).withFormat(format);
        new Run(config, contiguous, seed).all(operations);
    }

    /** A reduced failure: the cache freed the page with which the first block of 256 still began. */
    @Example
    void slidesWithinABlock() {
        new Run(Config.of(LAYERS, HEADS, HEAD_DIM).withValueDim(VALUE_DIM), false, 1)
                .all(List.of(
                        new Operation(Kind.OPEN, 0, 0),
                        new Operation(Kind.APPEND, 0, 172),
                        new Operation(Kind.SLIDE, 0, 100)));
    }

    private static final class Run {
        final Config config;
        final KeyValueCache cache;
        final Map<Integer, CacheModel.Tokens> model = new TreeMap<>();
        final SplittableRandom random;

        Run(Config config, boolean contiguous, long seed) {
            this.config = config;
            random = new SplittableRandom(seed);
            if (contiguous) {
                cache = KeyValueCache.contiguous(config, 2, 256);
                model.put(0, new CacheModel.Tokens(LAYERS));
                model.put(1, new CacheModel.Tokens(LAYERS));
            } else {
                cache = KeyValueCache.paged(config, budget(config));
            }
        }

        private static long budget(Config config) {
            KeyValueCache unit = KeyValueCache.contiguous(config, 1, 1);
            return unit.bytesPerToken() * PAGE * BUDGET_PAGES;
        }

        void all(List<Operation> operations) {
            for (Operation operation : operations) {
                try {
                    run(operation);
                } catch (CacheFullException full) {
                    assertTrue(full.getMessage().contains("expected at most"), full.getMessage());
                }
                model.keySet().forEach(this::check);
            }
            model.keySet().forEach(cache::close);
            assertEquals(0, cache.usedBytes());
        }

        private void run(Operation operation) {
            if (operation.kind == Kind.OPEN) {
                model.put(cache.open(), new CacheModel.Tokens(LAYERS));
                return;
            }
            if (model.isEmpty()) {
                return;
            }
            int sequence = model.keySet().stream()
                    .skip(operation.which % model.size())
                    .findFirst()
                    .orElseThrow();
            CacheModel.Tokens tokens = model.get(sequence);
            long length = cache.length(0, sequence);
            switch (operation.kind) {
                case APPEND -> append(new int[] {sequence}, operation.amount);
                case APPEND_MANY ->
                    append(model.keySet().stream().mapToInt(Integer::intValue).toArray(), operation.amount);
                case FORK -> model.put(cache.fork(sequence), tokens.copy());
                case TRUNCATE -> {
                    long to = tokens.first() + (length - tokens.first()) * operation.amount / 200;
                    long free = cache.availableTokens();
                    long freed = cache.freedTokens(sequence, to);
                    cache.truncate(sequence, to);
                    assertEquals(free + freed, cache.availableTokens());
                    tokens.truncate(to);
                }
                case SLIDE -> {
                    tokens.slide(tokens.first() + (length - tokens.first()) * operation.amount / 200);
                    cache.slide(sequence, tokens.first());
                }
                default -> {
                    cache.close(sequence);
                    model.remove(sequence);
                }
            }
        }

        /** Appends packed tokens: {@code amount - i} tokens, at least 0, to the i-th sequence. */
        private void append(int[] to, int amount) {
            for (int layer = 0; layer < LAYERS; layer++) {
                long[] offsets = new long[to.length + 1];
                List<CacheModel.Token> packed = new ArrayList<>();
                for (int i = 0; i < to.length; i++) {
                    for (int t = 0; t < Math.max(0, amount - i); t++) {
                        packed.add(CacheModel.random(config, random));
                    }
                    offsets[i + 1] = packed.size();
                }
                Tensor key = CacheModel.tensor(packed, true, HEADS, HEAD_DIM, CacheFormat.F32);
                Tensor value = CacheModel.tensor(packed, false, HEADS, VALUE_DIM, CacheFormat.F32);
                long free = cache.availableTokens();
                try {
                    cache.append(CPU, layer, to, PackedSequences.of(offsets), key, value);
                } catch (CacheFullException full) {
                    // each sequence needs at most one more page for a partial page, and one for a copy
                    long mostWanted = packed.size() + 2L * 256 * to.length;
                    boolean quota = full.getMessage().startsWith("sequence");
                    assertTrue(layer == 0 && (quota || mostWanted > free), "full with " + free + " free");
                    throw full;
                }
                for (int i = 0; i < to.length; i++) {
                    model.get(to[i]).append(layer, packed.subList((int) offsets[i], (int) offsets[i + 1]));
                }
            }
        }

        private void check(int sequence) {
            int[] open = model.keySet().stream().mapToInt(Integer::intValue).toArray();
            assertEquals(cache.usedBytes(), cache.bytesOf(open));
            CacheModel.Tokens tokens = model.get(sequence);
            assertEquals(tokens.first(), cache.firstKey(sequence));
            for (int layer = 0; layer < LAYERS; layer++) {
                List<CacheModel.Token> expected = tokens.layers.get(layer);
                assertEquals(expected.size(), cache.length(layer, sequence));
                KeyValueView plain = KeyValueView.of(
                        CacheModel.tensor(expected, true, HEADS, HEAD_DIM, config.format()),
                        CacheModel.tensor(expected, false, HEADS, VALUE_DIM, config.format()));
                assertArrayEquals(
                        attend(plain, window(tokens.first(), expected.size())),
                        attend(cache.view(layer, sequence), AttentionOptions.DEFAULT),
                        config.format().dtype() == DType.I8 ? I8_APART : 0f);
            }
        }

        /** Returns a mask that hides evicted tokens. */
        private static AttentionOptions window(long first, int keys) {
            Tensor kept = Tensor.of(new float[keys], keys);
            for (int i = 0; i < keys; i++) {
                kept.set(i < first ? Double.NEGATIVE_INFINITY : 0, i);
            }
            return first == 0 ? AttentionOptions.DEFAULT : AttentionOptions.DEFAULT.withMask(Mask.bias(kept));
        }

        private static float[] attend(KeyValueView view, AttentionOptions options) {
            Tensor query = Tensor.of(new float[3 * 2 * HEADS * HEAD_DIM], 1, 2 * HEADS, 3, HEAD_DIM);
            SplittableRandom random = new SplittableRandom(7);
            for (int i = 0; i < 3 * 2 * HEADS * HEAD_DIM; i++) {
                query.set(random.nextGaussian(), 0, i / (3 * HEAD_DIM), i / HEAD_DIM % 3, i % HEAD_DIM);
            }
            // the scale is 1, so that scaling before or after subtracting the maximum has the same bits
            Tensor output = Tensor.of(new float[3 * 2 * HEADS * VALUE_DIM], 1, 2 * HEADS, 3, VALUE_DIM);
            Attention.forward(CPU, query, view, AttentionOutputs.of(output), options.withScale(1));
            return output.toArray();
        }
    }
}
