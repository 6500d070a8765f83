package io.multihead.cache;

import io.multihead.attention.KeyValueView;
import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.attention.keyvalue.KeyValueAccess;
import io.multihead.internal.attention.keyvalue.KeyValueSpan;
import io.multihead.internal.base.Checks;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Keys and values of many sequences and all layers, kept between steps in the layout that attention reads in place.
 *
 * <p>Memory is divided into pages, each with some tokens of all layers and heads (Kwon et al. 2023, section 4). Sequences that were forked
 * share pages until one of them writes. {@link #contiguous} allocates all memory immediately. Appends up to the length for which the cache
 * was created never fail, unless other sequences take the pages. Such sequences are forks, whose shared pages are copied when they are
 * written, and sequences beyond the number for which the cache was created. {@link #paged} takes pages as they are needed, within a hard
 * budget. Both kinds use native memory, {@link #bytesPerToken} for each token. An arena of the caller may own this memory, without a size
 * limit. Otherwise the garbage collector frees the memory after the cache, and the JVM's limit of direct memory applies ({@code
 * -XX:MaxDirectMemorySize}, else {@code -Xmx}). Lengths are rounded up to whole pages, 64 tokens in a paged cache and 256 in a contiguous
 * one. Allocated memory is kept for later sequences.
 *
 * <p>A token is rounded once, when it is appended: f32 is unchanged, bf16 and f16 round to nearest even, and i8 has one f32 scale per
 * token, head and side (the largest absolute element divided by 127), or one scale per 32 elements of a key ({@link
 * CacheFormat#I8_BLOCKS}). Attention over a narrow cache equals attention over its widened content. In i8, the scale of a key
 * multiplies its score after the sum, so sums with queries beyond 10^36 may overflow.
 *
 * <p>Views may be read by any number of threads while no thread appends, truncates, slides, forks or closes. Only one thread at a time may
 * make these changes. A warm append into memory that the cache already has allocates nothing, except a rope's angles at new positions.
 */
public final class KeyValueCache implements SequenceCache {
    private static final long MOST_TOKENS = 1L << 62;

    private final Config config;
    private final PagePool pool;
    private final Sequences sequences;
    private final TokenAppender appender;

    /**
     * Sizes and element type of a cache.
     *
     * @param layers number of layers, at least 1
     * @param heads key/value heads, at least 1
     * @param headDim elements of a key, at least 1
     * @param valueDim elements of a value, at least 1
     * @param format the format of the elements
     * @param ropes rotary embeddings that rotate each appended key to its position in the sequence: none, one for all layers, or one per
     *     layer. The caller rotates queries
     */
    public record Config(int layers, int heads, int headDim, int valueDim, CacheFormat format, List<Rope> ropes) {
        /**
         * Checks the sizes.
         *
         * @throws IllegalArgumentException if a size is less than 1, 64 tokens have 2^31 elements or more, there are several ropes but not
         *     one per layer, or a rope rotates more than {@code headDim} elements
         */
        public Config {
            Checks.atLeast(layers, 1, "layers");
            Checks.atLeast(heads, 1, "heads");
            Checks.atLeast(headDim, 1, "headDim");
            Checks.atLeast(valueDim, 1, "valueDim");
            Checks.notNull(format, "format");
            ropes = Checks.noNulls(ropes, "ropes");
            CacheChecks.requireRopes(ropes, layers, headDim);
            PageLayout layout = new PageLayout(layers, heads, headDim, valueDim, format);
            CacheChecks.requirePageFits(layout, KeyValueSpan.MIN_PANEL_KEYS);
        }

        /**
         * {@return a configuration with keys and values of the same size, in f32}
         *
         * @param layers number of layers
         * @param heads key/value heads
         * @param headDim elements of a key and of a value
         */
        public static Config of(int layers, int heads, int headDim) {
            return new Config(layers, heads, headDim, headDim, CacheFormat.F32, List.of());
        }

        /**
         * {@return this configuration with another storage format}
         *
         * @param newFormat element type and scales
         */
        public Config withFormat(CacheFormat newFormat) {
            return new Config(layers, heads, headDim, valueDim, newFormat, ropes);
        }

        /**
         * {@return this configuration with values of another size, as in latent attention}
         *
         * @param newValueDim elements of a value
         */
        public Config withValueDim(int newValueDim) {
            return new Config(layers, heads, headDim, newValueDim, format, ropes);
        }

        /**
         * {@return this configuration with keys that are rotated as they are appended, which saves a pass over them}
         *
         * @param newRopes one for all layers, or one per layer; none to append keys without rotation
         */
        public Config withRopes(Rope... newRopes) {
            return new Config(layers, heads, headDim, valueDim, format, List.of(Checks.noNulls(newRopes, "ropes")));
        }

        /** {@return the bytes of one token in all layers, as {@link KeyValueCache#bytesPerToken} of a cache} */
        public long bytesPerToken() {
            return layout().bytesPerToken();
        }

        PageLayout layout() {
            return new PageLayout(layers, heads, headDim, valueDim, format);
        }

        /** Returns the number of scales of a key, which is 0 except in i8. */
        int keyScales() {
            return format.scalesOfKey(headDim);
        }

        @Nullable
        Rope rope(int layer) {
            return ropes.isEmpty() ? null : ropes.get(ropes.size() == 1 ? 0 : layer);
        }
    }

    private KeyValueCache(Config config, PagePool pool, long quota, int window) {
        this.config = config;
        this.pool = pool;
        sequences = new Sequences(pool, quota, window);
        @Nullable Rope[] ropes = new Rope[config.layers()];
        Arrays.setAll(ropes, config::rope);
        appender = new TokenAppender(pool, sequences, ropes);
    }

    /**
     * Creates a contiguous cache for {@code sequences} sequences of up to {@code tokens} tokens each, and allocates its memory. Sequences 0
     * to {@code sequences - 1} are open.
     *
     * @param config sizes and element type
     * @param sequences number of sequences
     * @param tokens the largest number of tokens of a sequence, rounded up to 256. With {@link #slide}, a sequence keeps up to 255 dropped
     *     tokens until it can free a block of 256, so reserve 256 tokens more than the window
     * @return the cache
     * @throws IllegalArgumentException if a number is less than 1, 256 tokens have 2^31 elements or more in all layers and heads, or all
     *     pages of 256 tokens together have 2^31 heads or more, or the flags of these heads need more than half of the Java heap
     * @throws OutOfMemoryError if all tokens need more than the JVM's direct memory
     */
    public static KeyValueCache contiguous(Config config, int sequences, long tokens) {
        return contiguous(Arena.ofAuto(), config, sequences, tokens);
    }

    /**
     * Creates a contiguous cache, as {@link #contiguous(Config, int, long)} does, in memory of an arena. The JVM's flags do not
     * limit its size. The cache must not be used after the arena is closed.
     *
     * @param arena allocates native memory, all of it immediately; a shared arena if several threads use the cache
     * @param config sizes and element type
     * @param sequences number of sequences
     * @param tokens the largest number of tokens of a sequence, rounded up to 256. With {@link #slide}, a sequence keeps up to 255 dropped
     *     tokens until it can free a block of 256, so reserve 256 tokens more than the window
     * @return the cache
     * @throws IllegalArgumentException if a number is less than 1, 256 tokens have 2^31 elements or more in all layers and heads, or all
     *     pages of 256 tokens together have 2^31 heads or more, or the flags of these heads need more than half of the Java heap
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static KeyValueCache contiguous(Arena arena, Config config, int sequences, long tokens) {
        Checks.notNull(config, "config");
        Checks.notNull(arena, "arena");
        Checks.atLeast(sequences, 1, "sequences");
        long quota = Math.ceilDiv(Checks.atLeast(tokens, 1, "tokens"), (long) PagePool.CONTIGUOUS_PAGE);
        CacheChecks.requireCountable(config.layout(), sequences, quota, tokens);
        PagePool pool = PagePool.contiguous(arena, config.layout(), sequences, quota);
        KeyValueCache cache = new KeyValueCache(config, pool, quota, 0);
        for (int sequence = 0; sequence < sequences; sequence++) {
            cache.open();
        }
        return cache;
    }

    /**
     * Creates a cache of pages of 64 tokens, which are taken as sequences grow. No sequence is open. Memory is allocated in slabs and kept.
     * The first slab has 4 MiB or eight pages. Each of the next slabs has three times the memory of all slabs before it, until together
     * they have 64 MiB or a sixteenth of the budget, whichever is more; later slabs have that size. Sequences that grow alternately take
     * pages in runs of eight, so that attention reads long streams; more memory is allocated when at least half of the memory is in use and
     * no run of eight pages is free.
     *
     * @param config sizes and element type
     * @param budgetBytes the largest number of bytes of all pages together
     * @return the cache
     * @throws IllegalArgumentException if the budget does not hold one page, or all its pages together have 2^31 heads or more, or the
     *     flags of these heads need more than half of the Java heap
     */
    public static KeyValueCache paged(Config config, long budgetBytes) {
        return paged(Arena.ofAuto(), config, budgetBytes);
    }

    /**
     * Creates a cache of pages, as {@link #paged(Config, long)} does, in memory of an arena. The JVM's flags do not limit its
     * size. The cache must not be used after the arena is closed.
     *
     * @param arena allocates native memory, as sequences grow; a shared arena if several threads use the cache
     * @param config sizes and element type
     * @param budgetBytes the largest number of bytes of all pages together
     * @return the cache
     * @throws IllegalArgumentException if the budget does not hold one page, or all its pages together have 2^31 heads or more, or the
     *     flags of these heads need more than half of the Java heap
     */
    public static KeyValueCache paged(Arena arena, Config config, long budgetBytes) {
        Checks.notNull(arena, "arena");
        long page = Checks.notNull(config, "config").layout().bytesPerToken() * KeyValueSpan.MIN_PANEL_KEYS;
        if (budgetBytes < page) {
            throw Checks.fail("budgetBytes", String.valueOf(budgetBytes), "expected at least one page of " + page);
        }
        CacheChecks.requireCountable(config.layout(), budgetBytes, page);
        PagePool pool = PagePool.growing(arena, config.layout(), KeyValueSpan.MIN_PANEL_KEYS, budgetBytes / page);
        return new KeyValueCache(config, pool, Long.MAX_VALUE, 0);
    }

    /**
     * Creates a cache of pages, as {@link #paged(Arena, Config, long)} does, for layers whose queries see only the last tokens ({@link
     * io.multihead.attention.Mask#window}). Before an append to all layers, the cache drops whole blocks of 256 tokens that no query sees,
     * except the last 256 of these tokens. Therefore a sequence holds at most the window, 511 tokens before it, and the tokens of the last
     * append. A sequence can be truncated by up to 256 tokens, to a snapshot, which keeps its own window, and to 0. Views of a sequence
     * begin with the first kept token, which attention with a longer window would take for the first token of the sequence.
     *
     * @param arena allocates native memory, as sequences grow; a shared arena if several threads use the cache
     * @param config sizes and element type
     * @param budgetBytes the largest number of bytes of all pages together
     * @param window tokens that a query sees, its own included, at least 1; for {@code Mask.window(left, 0)}, {@code left + 1}
     * @return the cache
     * @throws IllegalArgumentException as {@link #paged(Arena, Config, long)} does, or if the window is less than 1
     */
    public static KeyValueCache windowed(Arena arena, Config config, long budgetBytes, int window) {
        KeyValueCache whole = paged(arena, config, budgetBytes);
        return new KeyValueCache(config, whole.pool, Long.MAX_VALUE, (int) Checks.atLeast(window, 1, "window"));
    }

    /**
     * Returns the number of tokens that a query sees.
     *
     * @return the number, which includes the query's own token; 0 for all
     */
    public int window() {
        return (int) sequences.window.tokens;
    }

    /** {@return the sizes and the element type} */
    public Config config() {
        return config;
    }

    /**
     * Returns the bytes of one token in all layers.
     *
     * @return the bytes of keys, values and, for i8, their scales; values are padded to a multiple of 32 elements
     */
    @Override
    public long bytesPerToken() {
        return pool.layout.bytesPerToken();
    }

    @Override
    public long bytesOfTokens(long tokens) {
        return bytesPerToken() * Math.min(Checks.atLeast(tokens, 0, "tokens"), sequences.window.most());
    }

    /** {@return the bytes of the pages that sequences hold, at most the budget; a shared page counts once} */
    @Override
    public long usedBytes() {
        return bytesPerToken() * pool.pageTokens * pool.used();
    }

    /**
     * Returns the bytes of the pages that some sequences hold; each shared page counts once.
     *
     * @param of open sequences
     * @return at most {@link #usedBytes()}
     */
    @Override
    public long bytesOf(int... of) {
        return bytesPerToken() * pool.pageTokens * sequences.pages(Checks.notNull(of, "of"));
    }

    @Override
    public long availableTokens() {
        return (long) pool.available() * pool.pageTokens;
    }

    @Override
    public long neededTokens(int sequence, long tokens) {
        Checks.index(tokens, MOST_TOKENS, "tokens");
        return sequences.needed(sequence, 0, tokens) * pool.pageTokens;
    }

    @Override
    public long freedTokens(int sequence, long length) {
        return sequences.freed(sequence, Checks.atLeast(length, 0, "length")) * pool.pageTokens;
    }

    @Override
    public int layers() {
        return config.layers();
    }

    @Override
    public SequenceCache part(int layer) {
        Checks.index(layer, config.layers(), "layer");
        return this;
    }

    @Override
    public int layerOfPart(int layer) {
        return (int) Checks.index(layer, config.layers(), "layer");
    }

    @Override
    public boolean slides() {
        return true;
    }

    @Override
    public boolean truncatesAnywhere() {
        return window() == 0;
    }

    @Override
    public long restorable(int sequence, long length) {
        return sequences.window.restorable(sequences.get(sequence), Checks.atLeast(length, 0, "length"));
    }

    @Override
    public void snapshot(int sequence) {
        sequences.window.mark(sequence, sequences.get(sequence));
    }

    @Override
    public long bytesPerSequence() {
        return 0;
    }

    @Override
    public int open() {
        return sequences.put(new Sequence(config.layers()));
    }

    @Override
    public int fork(int sequence) {
        return sequences.fork(sequence);
    }

    @Override
    public void close(int sequence) {
        sequences.close(sequence);
    }

    @Override
    public long length(int layer, int sequence) {
        Checks.index(layer, config.layers(), "layer");
        return sequences.get(sequence).lengths[layer];
    }

    @Override
    public long firstKey(int sequence) {
        return sequences.get(sequence).firstKey;
    }

    /**
     * Appends the same number of tokens to each sequence.
     *
     * @param cpu threads and scratch
     * @param layer from 0
     * @param to one open sequence per batch, all different
     * @param key {@code [sequences, heads, tokens, headDim]}, any strides and element type
     * @param value {@code [sequences, heads, tokens, valueDim]}
     * @throws IllegalArgumentException if shapes do not fit
     * @throws CacheFullException if there is no room; nothing changes
     */
    public void append(Compute cpu, int layer, int[] to, Tensor key, Tensor value) {
        appender.append(cpu, layer, to, null, key, value);
    }

    /**
     * Appends tokens to one sequence.
     *
     * @param cpu threads and scratch
     * @param layer from 0
     * @param sequence an open sequence
     * @param key {@code [1, heads, tokens, headDim]}, any strides and element type
     * @param value {@code [1, heads, tokens, valueDim]}
     * @throws IllegalArgumentException if shapes do not fit
     * @throws CacheFullException if there is no room; nothing changes
     */
    public void append(Compute cpu, int layer, int sequence, Tensor key, Tensor value) {
        appender.append(cpu, layer, sequence, key, value);
    }

    /**
     * Appends packed tokens of several sequences.
     *
     * @param cpu threads and scratch
     * @param layer from 0
     * @param to one open sequence for each packed sequence, all different
     * @param tokens the boundaries of the sequences among the tokens
     * @param key {@code [1, heads, tokens, headDim]}, any strides and element type
     * @param value {@code [1, heads, tokens, valueDim]}
     * @throws IllegalArgumentException if shapes do not fit, or the numbers of sequences or tokens differ
     * @throws CacheFullException if there is no room; nothing changes
     */
    public void append(Compute cpu, int layer, int[] to, PackedSequences tokens, Tensor key, Tensor value) {
        appender.append(cpu, layer, to, tokens, null, key, value);
    }

    /**
     * Appends tokens, batched or packed, whose keys may be rotated to any positions: for images and text in one sequence
     * (M-RoPE), or after a shortened prefix. The other append methods rotate a key to its index in the sequence.
     *
     * @param cpu threads and scratch
     * @param layer from 0
     * @param to one open sequence per batch, or for each packed sequence, all different
     * @param tokens keys, values, and their sequences and positions
     * @throws IllegalArgumentException if shapes do not fit, or there are positions and the layer's keys are not rotated, or a
     *     position is negative or beyond the positions of the rope
     * @throws CacheFullException if there is no room; nothing changes
     */
    public void append(Compute cpu, int layer, int[] to, NewTokens tokens) {
        PackedSequences packed = Checks.notNull(tokens, "tokens").sequences();
        if (packed == null) {
            appender.append(cpu, layer, to, tokens.positions(), tokens.key(), tokens.value());
        } else {
            appender.append(cpu, layer, to, packed, tokens.positions(), tokens.key(), tokens.value());
        }
    }

    @Override
    public void truncate(int sequence, long length) {
        sequences.truncate(sequence, length);
    }

    /**
     * Drops the tokens before a position, in all layers, and frees whole blocks of 256 tokens for new tokens. Positions do not
     * change, so a sequence with a window may grow without limit in constant memory.
     *
     * @param sequence an open sequence
     * @param firstKey the first token that stays; at most the length of every layer
     * @throws IllegalArgumentException if a layer is shorter, or the tokens have been dropped already
     */
    @Override
    public void slide(int sequence, long firstKey) {
        sequences.slide(sequence, firstKey);
    }

    /**
     * {@return a view of some sequences of one layer, for attention}. The view is valid while the sequences are open, and shows their
     * current tokens.
     *
     * @param layer from 0
     * @param of open sequences
     */
    public KeyValueView view(int layer, int... of) {
        Checks.index(layer, config.layers(), "layer");
        for (int sequence : Checks.notNull(of, "of")) {
            sequences.get(sequence);
        }
        return KeyValueAccess.view(new CacheView(pool, sequences, layer, of.clone()), KeyValueView.class);
    }

    PagePool pool() {
        return pool;
    }

    Sequences sequences() {
        return sequences;
    }
}
