package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Fills pages of a cache from a session file. Pages are taken first and sequences are opened last, so a load that fails in between changes
 * only the number of pages with memory.
 */
final class SessionLoader implements SessionPart {
    private final KeyValueCache cache;
    private final PagePool pool;
    private final Safetensors file;
    /** The prefix of the cache's tensors. */
    private final String prefix;

    private final SessionHeader header;
    private final int[] layers;
    /** Blocks of a page. */
    private final int step;

    /** The numbers of the pages to fill, by their index in a sequence and their blocks; -1 is a block without tokens. */
    private final Map<List<Long>, Integer> contents = new LinkedHashMap<>();
    /** For each sequence, the indices of its pages in {@link #contents}. */
    private final List<int[]> pagesOf = new ArrayList<>();

    /**
     * Plans a load.
     *
     * @param metadata the file's entry of this cache
     * @param prefix the prefix of its tensors
     * @param layers the layers of the file that the cache has
     * @param ofFile the number of layers of the file with this prefix
     */
    SessionLoader(
            KeyValueCache cache,
            Safetensors file,
            Map<String, String> metadata,
            String prefix,
            int[] layers,
            int ofFile) {
        this.layers = layers;
        this.cache = cache;
        this.file = file;
        this.prefix = prefix;
        pool = cache.pool();
        step = pool.pageTokens / SessionBlocks.TOKENS;
        header = SessionHeader.read(metadata, cache, layers, ofFile);
        long tokens = requireTensors();
        header.requireBlocks(tokens / SessionBlocks.TOKENS);
    }

    /** Fails unless all tensors are present, with the cache's sizes and one number of tokens, which is returned. */
    private long requireTensors() {
        KeyValueCache.Config config = cache.config();
        long tokens = -1;
        for (int layer : layers) {
            Tensor key = file.get(prefix + StoredPart.KEY.name(layer));
            tokens = tokens < 0 && key.rank() == 3 ? key.dim(1) : tokens;
            for (StoredPart part : StoredPart.values()) {
                if (part.isIn(config)) {
                    requireTensor(
                            prefix + part.name(layer), part.dtype(config), part.shape(config, Math.max(0, tokens)));
                }
            }
        }
        if (tokens % SessionBlocks.TOKENS != 0) {
            throw Checks.fail(
                    prefix + StoredPart.KEY.name(layers[0]),
                    tokens + " tokens",
                    "expected a multiple of " + SessionBlocks.TOKENS);
        }
        return tokens;
    }

    private void requireTensor(String name, DType dtype, Shape shape) {
        Tensor tensor = file.get(name);
        if (tensor.dtype() != dtype || !tensor.shape().equals(shape)) {
            throw Checks.fail(name, tensor.toString(), "expected " + dtype + " " + shape);
        }
    }

    /** Fails if there is no room for all sequences. */
    @Override
    public void requireRoom() {
        plan();
        if (contents.size() > pool.available()) {
            throw new CacheFullException(
                    "cache: " + contents.size() + " pages wanted by the file; expected at most the " + pool.available()
                            + " free of " + pool.pages + ", " + pool.pageTokens + " tokens each");
        }
    }

    /** Fills pages and opens the sequences; returns their numbers. */
    @Override
    public int[] open(Compute cpu) {
        int[] pages = new int[contents.size()];
        int taken = 0;
        boolean filled = false;
        try {
            for (; taken < pages.length; taken++) {
                pages[taken] = pool.take(taken == 0 ? -1 : pages[taken - 1]);
            }
            fill(cpu, pages);
            filled = true;
        } finally {
            for (int i = 0; i < taken && !filled; i++) {
                pool.release(pages[i]);
            }
        }
        return open(pages);
    }

    /** Determines the pages to be filled. */
    private void plan() {
        for (SessionHeader.Entry entry : header.sequences()) {
            long first = entry.kept() / pool.pageTokens;
            long end = Math.ceilDiv(entry.longest(), (long) pool.pageTokens);
            if (end - first > cache.sequences().quota()) {
                throw new CacheFullException("sequence " + pagesOf.size() + " of the file: tokens " + entry.firstKey()
                        + " to " + entry.longest() + "; expected at most "
                        + cache.sequences().quota() * pool.pageTokens);
            }
            int[] pages = new int[(int) Math.max(0, end - first)];
            for (int i = 0; i < pages.length; i++) {
                Integer known = contents.putIfAbsent(blocks(entry, first + i), contents.size());
                pages[i] = known == null ? contents.size() - 1 : known;
            }
            pagesOf.add(pages);
        }
    }

    /** Returns the index of a page in its sequence, and then its blocks. */
    private List<Long> blocks(SessionHeader.Entry entry, long page) {
        List<Long> blocks = new ArrayList<>(List.of(page));
        for (int i = 0; i < step; i++) {
            long index = page * step + i - entry.kept() / SessionBlocks.TOKENS;
            blocks.add(index >= 0 && index < entry.blocks().length ? entry.blocks()[(int) index] : -1L);
        }
        return blocks;
    }

    private void fill(Compute cpu, int[] pages) {
        for (int layer = 0; layer < cache.config().layers(); layer++) {
            copy(cpu, pages, layer, false);
            copy(cpu, pages, layer, true);
        }
    }

    /** Copies one layer of all blocks with tokens, and zeros to all blocks without tokens, because free pages have arbitrary contents. */
    private void copy(Compute cpu, int[] pages, int layer, boolean zeros) {
        try (PageCopy call = Operation.open(cpu, PageCopy.CALL)) {
            call.bind(pool, layer, PageCopy.Way.RESTORE);
            if (zeros) {
                call.bindElements(zeros(pool.layout.headDim()), zeros(pool.layout.valueDim()));
            } else {
                call.bindElements(stored(StoredPart.KEY, layer), stored(StoredPart.VALUE, layer));
                call.bindScales(stored(StoredPart.KEY_SCALE, layer), stored(StoredPart.VALUE_SCALE, layer));
            }
            int index = 0;
            for (List<Long> blocks : contents.keySet()) {
                for (int i = 0; i < step; i++) {
                    long block = blocks.get(i + 1);
                    if (block < 0 == zeros) {
                        call.add(
                                pages[index],
                                i * SessionBlocks.TOKENS,
                                SessionBlocks.TOKENS,
                                Math.max(0, block) * SessionBlocks.TOKENS);
                    }
                }
                index++;
            }
            call.run();
        }
    }

    private @Nullable Tensor stored(StoredPart part, int layer) {
        return part.isIn(cache.config()) ? file.get(prefix + part.name(layers[layer])) : null;
    }

    /** Returns a block of zeros; the scales of a page that was just taken are already zero. */
    private Tensor zeros(int dim) {
        return Tensor.allocate(Arena.ofAuto(), cache.config().format().dtype(), Shape.of(1, 1, 1))
                .broadcast(pool.layout.heads(), SessionBlocks.TOKENS, dim);
    }

    private int[] open(int[] pages) {
        int[] numbers = new int[pagesOf.size()];
        boolean[] owned = new boolean[pages.length];
        for (int i = 0; i < numbers.length; i++) {
            SessionHeader.Entry entry = header.sequences().get(i);
            Sequence sequence = new Sequence(entry.lengths().length);
            System.arraycopy(entry.lengths(), 0, sequence.lengths, 0, entry.lengths().length);
            sequence.firstKey = entry.firstKey();
            sequence.dropped = entry.kept() / pool.pageTokens;
            for (int content : pagesOf.get(i)) {
                if (owned[content]) {
                    pool.share(pages[content]);
                }
                owned[content] = true;
                sequence.add(pages[content]);
            }
            numbers[i] = cache.sequences().put(sequence);
        }
        return numbers;
    }
}
