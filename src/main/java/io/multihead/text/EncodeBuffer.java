package io.multihead.text;

import io.multihead.internal.text.pairs.Merger;
import io.multihead.internal.text.unicode.ComposedText;
import io.multihead.internal.text.unigram.UnigramBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The scratch memory of one call of a tokenizer: the text, its ids so far, and arrays for merging. Reused from call to call; not thread-safe. */
final class EncodeBuffer {
    /** The index of the first character of the text. A space may be stored before it. */
    static final int START = 1;

    private static final int FEW = 256;
    /** A buffer for longer texts, or with more ids, is not kept. */
    private static final int MOST_KEPT = 1 << 16;

    char[] text = new char[FEW];
    int end;

    final Merger merger = new Merger();

    /** The added token that {@link AddedTokens#find} found, and its beginning and end including the white space that it strips. */
    int match;

    int matchStart;
    int matchEnd;

    /** The composed form of the part that was encoded last; null if it was encoded unchanged. */
    @Nullable
    ComposedText composed;

    final UnigramBuffer unigram = new UnigramBuffer();
    /** Whether control tokens are found in the text. */
    boolean special;

    /** The text, if only some of its characters may be control tokens; otherwise null. */
    @Nullable
    PromptText prompt;

    private @Nullable TokenBuffer tokens;
    private int firstToken;
    private int[] ids = new int[FEW];
    private int size;

    /** Takes a text whose ids are collected here or, with their places, in another buffer. */
    void begin(String string, boolean withSpecial, @Nullable TokenBuffer to) {
        special = withSpecial;
        tokens = to;
        firstToken = to == null ? 0 : to.size();
        size = 0;
        end = START + string.length();
        if (end > text.length) {
            text = new char[end];
        }
        string.getChars(0, string.length(), text, START);
    }

    int size() {
        return size;
    }

    void add(int id) {
        if (size == ids.length) {
            ids = Arrays.copyOf(ids, (int) Math.min(Integer.MAX_VALUE - 8, 2L * size));
        }
        ids[size++] = id;
    }

    /** Adds an id for a part of the text, in the coordinates of the caller. */
    void add(int id, int start, int stop, boolean continuesWord) {
        if (tokens == null) {
            add(id);
        } else {
            tokens.add(id, start, stop, continuesWord && tokens.size() > firstToken);
        }
    }

    void add(int[] more) {
        if (size + more.length > ids.length) {
            ids = Arrays.copyOf(ids, (int) Math.min(Integer.MAX_VALUE - 8, 2L * (size + more.length)));
        }
        for (int id : more) {
            ids[size++] = id;
        }
    }

    /** Returns the id that was added last, or -1. */
    int last() {
        return size == 0 ? -1 : ids[size - 1];
    }

    /** Returns whether ids and their places are added to another buffer. */
    boolean placesTokens() {
        return tokens != null;
    }

    /** Removes the ids from an index on. */
    void truncate(int newSize) {
        size = newSize;
    }

    int id(int index) {
        return ids[index];
    }

    /** Drops the reference to the buffer that receives ids. */
    void end() {
        tokens = null;
        composed = null;
        prompt = null;
    }

    int[] ids() {
        return Arrays.copyOf(ids, size);
    }

    int[] idsFrom(int first) {
        return Arrays.copyOfRange(ids, first, size);
    }

    boolean isKept() {
        return text.length <= MOST_KEPT && ids.length <= MOST_KEPT && unigram.isKept();
    }
}
