package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.wordpiece.WordPieceModel;
import java.util.Arrays;

/**
 * Tokens of one text or several, one after another: their ids and their offsets in the text. The buffer grows as needed and is
 * reused after {@link #clear}, so a warm tokenizer allocates nothing for texts of up to 65,536 tokens. Not thread-safe.
 */
public final class TokenBuffer {
    /** Code points of the word that is being read, and where each begins and ends in the text. */
    final int[] word = new int[WordPieceModel.LONGEST_WORD];

    final int[] wordStarts = new int[WordPieceModel.LONGEST_WORD];
    final int[] wordEnds = new int[WordPieceModel.LONGEST_WORD];

    private static final int FEW = 64;
    /** Arrays that have grown beyond this are dropped, since few texts have this number of tokens. */
    private static final int MOST_KEPT = 1 << 16;

    private int[] ids = new int[FEW];
    private int[] starts = new int[FEW];
    private int[] ends = new int[FEW];
    private boolean[] continues = new boolean[FEW];
    private int size;

    /** Creates an empty buffer. */
    public TokenBuffer() {}

    /** {@return the number of tokens} */
    public int size() {
        return size;
    }

    /**
     * Returns a token's row in the vocabulary.
     *
     * @param index from 0 to {@code size() - 1}
     * @return the id
     */
    public int id(int index) {
        return ids[checked(index)];
    }

    /**
     * Returns the start of a token: the index in the text of its first {@code char}, even if normalization changed this
     * character.
     *
     * @param index from 0 to {@code size() - 1}
     * @return an index of the text that was tokenized
     */
    public int start(int index) {
        return starts[checked(index)];
    }

    /**
     * Returns the end of a token.
     *
     * @param index from 0 to {@code size() - 1}
     * @return one past the index in the text of its last {@code char}
     */
    public int end(int index) {
        return ends[checked(index)];
    }

    /**
     * Returns whether a token continues the word of the one before it.
     *
     * @param index from 0 to {@code size() - 1}
     * @return false for the first token of a word, and for special tokens
     */
    public boolean continuesWord(int index) {
        return continues[checked(index)];
    }

    /** {@return all ids, as a new array} */
    public int[] ids() {
        return Arrays.copyOf(ids, size);
    }

    /** Removes all tokens, and keeps the memory for up to 65,536. */
    public void clear() {
        size = 0;
        if (ids.length > MOST_KEPT) {
            ids = new int[FEW];
            starts = new int[FEW];
            ends = new int[FEW];
            continues = new boolean[FEW];
        }
    }

    void add(int id, int start, int end, boolean continuesWord) {
        if (size == ids.length) {
            int longer = Math.max(size + 1, Math.min(2 * size, Integer.MAX_VALUE - 8));
            ids = Arrays.copyOf(ids, longer);
            starts = Arrays.copyOf(starts, longer);
            ends = Arrays.copyOf(ends, longer);
            continues = Arrays.copyOf(continues, longer);
        }
        ids[size] = id;
        starts[size] = start;
        ends[size] = end;
        continues[size++] = continuesWord;
    }

    /** Removes the tokens from {@code newSize} on. */
    void truncate(int newSize) {
        size = newSize;
    }

    /** Removes the tokens of an id, from an index on. */
    void remove(int id, int from) {
        int kept = from;
        for (int i = from; i < size; i++) {
            if (ids[i] != id) {
                ids[kept] = ids[i];
                starts[kept] = starts[i];
                ends[kept] = ends[i];
                continues[kept++] = continues[i];
            }
        }
        size = kept;
    }

    private int checked(int index) {
        Checks.index(index, size, "token");
        return index;
    }
}
