package io.multihead.cache;

import io.multihead.internal.attention.keyvalue.KeyValueSpan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The contents of a session file: the distinct blocks of 64 tokens of some sequences, and the numbers of the blocks of each sequence. A
 * block that sequences share is stored once, for any size of pages.
 */
final class SessionBlocks {
    /** Tokens of a block: the number of bits of a long. Pages of any cache consist of whole blocks. */
    static final int TOKENS = KeyValueSpan.MIN_PANEL_KEYS;

    /** One block: its location, and the tokens that at least one sequence still has. */
    private static final class Block {
        final int page;
        final int start;
        /**
         * For each layer, a bit for each token that some sequence has. Tokens between them may be missing, if one sequence truncated them
         * and another dropped them.
         */
        final long[] kept;

        int number = -1;

        Block(int page, int start, int layers) {
            this.page = page;
            this.start = start;
            kept = new long[layers];
        }

        /** Adds the tokens of a sequence in which this block begins with {@code token}. */
        void use(Sequence sequence, long token) {
            int first = Math.clamp(sequence.firstKey - token, 0, TOKENS);
            for (int layer = 0; layer < kept.length; layer++) {
                int end = Math.clamp(sequence.lengths[layer] - token, 0, TOKENS);
                kept[layer] |= first < end ? -1L >>> TOKENS - (end - first) << first : 0;
            }
        }

        boolean isEmpty() {
            return Arrays.stream(kept).allMatch(tokens -> tokens == 0);
        }
    }

    private final PagePool pool;
    private final List<Block[]> sequences = new ArrayList<>();
    /** The blocks with tokens, by number. */
    private final List<Block> used = new ArrayList<>();

    SessionBlocks(PagePool pool, List<Sequence> of) {
        this.pool = pool;
        Map<Long, Block> all = new LinkedHashMap<>();
        for (Sequence sequence : of) {
            sequences.add(blocks(sequence, all));
        }
        for (Block block : all.values()) {
            if (!block.isEmpty()) {
                block.number = used.size();
                used.add(block);
            }
        }
    }

    /** Returns the first block of a sequence, whose page exists even if its tokens have been dropped. */
    static long first(long firstKey) {
        return firstKey / Sequences.SLIDE_STEP * (Sequences.SLIDE_STEP / TOKENS);
    }

    long first(Sequence sequence) {
        return sequence.dropped * (pool.pageTokens / TOKENS);
    }

    /** Returns all blocks of the pages of a sequence. */
    private Block[] blocks(Sequence sequence, Map<Long, Block> all) {
        long first = first(sequence);
        long end = Math.ceilDiv(sequence.longest(), (long) pool.pageTokens) * (pool.pageTokens / TOKENS);
        Block[] blocks = new Block[(int) Math.max(0, end - first)];
        for (int i = 0; i < blocks.length; i++) {
            long token = (first + i) * TOKENS;
            int page = sequence.page(token / pool.pageTokens);
            int start = (int) (token % pool.pageTokens);
            blocks[i] = all.computeIfAbsent(
                    (long) page * pool.pageTokens + start, key -> new Block(page, start, pool.layout.layers()));
            blocks[i].use(sequence, token);
        }
        return blocks;
    }

    /** Returns the number of tokens of the file's tensors. */
    long tokens() {
        return (long) used.size() * TOKENS;
    }

    /** Returns the numbers of a sequence's blocks; -1 if no sequence has a token of the block. */
    int[] numbers(int sequence) {
        return Arrays.stream(sequences.get(sequence))
                .mapToInt(block -> block.number)
                .toArray();
    }

    /** Adds runs for the tokens of each block that are in one layer. */
    void addRuns(PageCopy call, int layer) {
        for (Block block : used) {
            int from = 0;
            for (long rest = block.kept[layer]; rest != 0; ) {
                int gap = Long.numberOfTrailingZeros(rest);
                int tokens = Long.numberOfTrailingZeros(~(rest >>> gap));
                from += gap;
                call.add(block.page, block.start + from, tokens, (long) block.number * TOKENS + from);
                from += tokens;
                rest = gap + tokens < TOKENS ? rest >>> gap + tokens : 0;
            }
        }
    }
}
