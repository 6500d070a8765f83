package io.multihead.langchain4j;

import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;

/** Gives a handler the parts of an answer, with a handle that ends it after the token that is generated. */
final class CancellableParts extends ChatParts implements StreamingHandle {
    private final PartialResponseContext context = new PartialResponseContext(this);
    private volatile boolean cancelled;

    private CancellableParts(StreamingChatResponseHandler handler) {
        super(handler);
    }

    /** Returns them as a type that a caller beside an older core can name without loading this one. */
    static ChatParts of(StreamingChatResponseHandler handler) {
        return new CancellableParts(handler);
    }

    @Override
    void deliver(String text) {
        handler.onPartialResponse(new PartialResponse(text), context);
    }

    @Override
    public void cancel() {
        cancelled = true;
    }

    @Override
    public boolean isCancelled() {
        return cancelled;
    }
}
