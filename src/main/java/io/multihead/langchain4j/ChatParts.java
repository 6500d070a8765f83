package io.multihead.langchain4j;

import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import io.multihead.decoder.GeneratedToken;
import io.multihead.decoder.TokenListener;

/** Gives a handler the parts of an answer, beside a core whose handlers cannot cancel. */
class ChatParts implements TokenListener {
    final StreamingChatResponseHandler handler;

    ChatParts(StreamingChatResponseHandler handler) {
        this.handler = handler;
    }

    @Override
    public final boolean onToken(GeneratedToken token) {
        if (!token.text().isEmpty() && !isCancelled()) {
            deliver(token.text());
        }
        return !isCancelled();
    }

    void deliver(String text) {
        handler.onPartialResponse(text);
    }

    boolean isCancelled() {
        return false;
    }
}
