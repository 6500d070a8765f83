package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** What tokenizers of encoders share: buffers that are reused, and the ids around a text. */
abstract class EndedTokenizer implements EncoderTokenizer {
    private final AtomicReference<@Nullable TokenBuffer> spare = new AtomicReference<>();

    /** Returns whether a token continues the word of the one before it. */
    abstract boolean continuesWord(int id);

    @Override
    public final int[] encode(String text) {
        return encode(text, Integer.MAX_VALUE);
    }

    @Override
    public final int[] encode(String text, int mostTokens) {
        Checks.atLeast(mostTokens, 2, "mostTokens");
        TokenBuffer buffer = take();
        append(text, buffer);
        int[] ids = new int[Math.min(buffer.size(), mostTokens - 2) + 2];
        ids[0] = firstToken();
        for (int i = 1; i < ids.length - 1; i++) {
            ids[i] = buffer.id(i - 1);
        }
        ids[ids.length - 1] = lastToken();
        giveBack(buffer);
        return ids;
    }

    @Override
    public final int count(String text) {
        TokenBuffer buffer = take();
        append(text, buffer);
        int count = buffer.size() + 2;
        giveBack(buffer);
        return count;
    }

    @Override
    public final void append(int[] ids, TokenBuffer to) {
        Checks.notNull(to, "to");
        int inner = Checks.notNull(ids, "ids").length - 1;
        if (inner < 1 || ids[0] != firstToken() || ids[inner] != lastToken()) {
            throw Checks.fail(
                    "ids", ids.length + " of them", "expected " + firstToken() + " first and " + lastToken() + " last");
        }
        for (int i = 1; i < inner; i++) {
            Checks.index(ids[i], vocabularySize(), "ids");
        }
        for (int i = 1; i < inner; i++) {
            to.add(ids[i], i, i + 1, i > 1 && continuesWord(ids[i]));
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
