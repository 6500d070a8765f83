package io.multihead.langchain4j;

import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import io.multihead.decoder.AnswerListener;
import java.lang.System.Logger.Level;

/**
 * Passes the parts of an answer to a handler, for a core whose handlers cannot cancel: only text, because they have no other methods. The
 * handler's exceptions go to its {@code onError}, and the answer continues, as langchain4j's contract requires.
 */
class ChatParts implements AnswerListener {
    final StreamingChatResponseHandler handler;

    ChatParts(StreamingChatResponseHandler handler) {
        this.handler = handler;
    }

    @Override
    public final void onText(String part) {
        call(() -> deliver(part));
    }

    /** Delivers an invalid call as text. */
    @Override
    public final void onBrokenCall(String text, String problem) {
        call(() -> deliver(text));
    }

    /** Delivers the whole answer, unless it was canceled. */
    final void complete(ChatResponse response) {
        call(() -> handler.onCompleteResponse(response));
    }

    /** Delivers the reason why there is no answer, unless it was canceled. */
    final void fail(Throwable failure) {
        if (!isCancelled()) {
            error(failure);
        }
    }

    /** Calls the handler, unless the answer was canceled. */
    final void call(Runnable call) {
        if (isCancelled()) {
            return;
        }
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
