package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The common part of encoders' tokenizers: buffers that are reused, and the ids around a text. */
abstract class EndedTokenizer implements EncoderTokenizer {
    /** The id of tokens that are omitted from every text, or {@link SpecialIds#NONE}. */
    final int leftOut;

    private final AtomicReference<@Nullable TokenBuffer> spare = new AtomicReference<>();

    EndedTokenizer(int leftOut) {
        this.leftOut = leftOut;
    }

    abstract void tokenize(String text, TokenBuffer to);

    /** Returns whether a token continues the word of the previous one. */
    abstract boolean continuesWord(int id);

    @Override
    public final int specialTokenCount() {
        return firstToken() == SpecialIds.NONE ? 0 : 2;
    }

    @Override
    public final void append(String text, TokenBuffer to) {
        int before = Checks.notNull(to, "to").size();
        tokenize(Checks.notNull(text, "text"), to);
        if (leftOut != SpecialIds.NONE) {
            to.remove(leftOut, before);
        }
    }

    @Override
    public final int[] encodeWithSpecialTokens(String text) {
        return encodeWithSpecialTokens(text, Integer.MAX_VALUE);
    }

    @Override
    public final int[] encodeWithSpecialTokens(String text, int mostTokens) {
        Checks.atLeast(mostTokens, 2, "mostTokens");
        TokenBuffer buffer = take();
        append(text, buffer);
        int before = specialTokenCount() / 2;
        int[] ids = ids(buffer, Math.min(buffer.size(), mostTokens - 2 * before), before);
        if (before > 0) {
            ids[0] = firstToken();
            ids[ids.length - 1] = lastToken();
        }
        giveBack(buffer);
        return ids;
    }

    @Override
    public final int[] encode(String text) {
        TokenBuffer buffer = take();
        append(text, buffer);
        int[] ids = ids(buffer, buffer.size(), 0);
        giveBack(buffer);
        return ids;
    }

    /** Returns the first {@code count} ids of the buffer, with {@code around} free elements before and after them. */
    private static int[] ids(TokenBuffer buffer, int count, int around) {
        int[] ids = new int[count + 2 * around];
        for (int i = 0; i < count; i++) {
            ids[around + i] = buffer.id(i);
        }
        return ids;
    }

    @Override
    public final int count(String text) {
        TokenBuffer buffer = take();
        append(text, buffer);
        int count = buffer.size();
        giveBack(buffer);
        return count;
    }

    @Override
    public final void append(int[] ids, TokenBuffer to) {
        Checks.notNull(to, "to");
        int before = specialTokenCount() / 2;
        int end = Checks.notNull(ids, "ids").length - before;
        if (before > 0 && (end < 1 || ids[0] != firstToken() || ids[end] != lastToken())) {
            throw Checks.fail(
                    "ids", ids.length + " of them", "expected " + firstToken() + " first and " + lastToken() + " last");
        }
        Checks.indices(ids, vocabularySize(), "ids");
        for (int i = before; i < end; i++) {
            if (ids[i] != leftOut) {
                to.add(ids[i], i, i + 1, i > before && continuesWord(ids[i]));
            }
        }
    }

    private TokenBuffer take() {
        TokenBuffer buffer = spare.getAndSet(null);
        if (buffer == null) {
            return new TokenBuffer();
        }
        buffer.clear();
        return buffer;
    }

    private void giveBack(TokenBuffer buffer) {
        buffer.clear();
        spare.set(buffer);
    }
}
