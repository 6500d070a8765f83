package io.multihead.langchain4j;

import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import io.multihead.decoder.GeneratedToken;
import io.multihead.decoder.TokenListener;
import java.lang.System.Logger.Level;

/**
 * Gives a handler the parts of an answer, beside a core whose handlers cannot cancel. What the handler throws goes to its {@code onError}, and
 * the answer goes on, as langchain4j's contract has it.
 */
class ChatParts implements TokenListener {
    final StreamingChatResponseHandler handler;

    ChatParts(StreamingChatResponseHandler handler) {
        this.handler = handler;
    }

    @Override
    public final boolean onToken(GeneratedToken token) {
        if (!token.text().isEmpty() && !isCancelled()) {
            guarded(() -> deliver(token.text()));
        }
        return !isCancelled();
    }

    /** Delivers the whole answer, unless it was cancelled. */
    final void complete(ChatResponse response) {
        if (!isCancelled()) {
            guarded(() -> handler.onCompleteResponse(response));
        }
    }

    /** Delivers why there is no answer, unless it was cancelled. */
    final void fail(Throwable failure) {
        if (!isCancelled()) {
            error(failure);
        }
    }

    private void guarded(Runnable call) {
        try {
            call.run();
        } catch (Throwable thrown) {
            error(thrown);
        }
    }

    private void error(Throwable thrown) {
        try {
            handler.onError(thrown);
        } catch (Throwable ignored) {
            System.getLogger("io.multihead").log(Level.WARNING, "onError of a handler failed; ignored", ignored);
        }
    }

    void deliver(String text) {
        handler.onPartialResponse(text);
    }

    boolean isCancelled() {
        return false;
    }
}
