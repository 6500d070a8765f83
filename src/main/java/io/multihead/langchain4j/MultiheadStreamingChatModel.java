package io.multihead.langchain4j;

import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import io.multihead.internal.base.Checks;

/**
 * langchain4j's streaming chat model, of the weights and sessions of a {@link MultiheadChatModel}. The answer is generated on the calling thread, which
 * calls the handler: a virtual thread for each request is one way to have it elsewhere. What {@code onPartialResponse} throws ends the
 * answer and reaches {@code onError}. After its handle was cancelled, a handler is not called again.
 *
 * <p>Thread-safe. Needs no closing: it ends with the model that it was made of.
 */
public final class MultiheadStreamingChatModel implements StreamingChatModel {
    private final MultiheadChatModel model;

    private MultiheadStreamingChatModel(MultiheadChatModel model) {
        this.model = model;
    }

    /**
     * {@return a model that streams what another one answers}
     *
     * @param model whose weights and sessions it uses; stays the caller's to close
     */
    public static MultiheadStreamingChatModel of(MultiheadChatModel model) {
        return new MultiheadStreamingChatModel(Checks.notNull(model, "model"));
    }

    /** Ends an answer after the token that is generated. */
    private static final class Handle implements StreamingHandle {
        private volatile boolean cancelled;

        @Override
        public void cancel() {
            cancelled = true;
        }

        @Override
        public boolean isCancelled() {
            return cancelled;
        }
    }

    @Override
    public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
        Handle handle = new Handle();
        PartialResponseContext context = new PartialResponseContext(handle);
        ChatResponse response;
        try {
            response = model.answer(request, token -> {
                if (!token.text().isEmpty() && !handle.isCancelled()) {
                    handler.onPartialResponse(new PartialResponse(token.text()), context);
                }
                return !handle.isCancelled();
            });
        } catch (Throwable failed) {
            if (!handle.isCancelled()) {
                handler.onError(failed);
            }
            if (failed instanceof Error error) {
                throw error;
            }
            return;
        }
        if (!handle.isCancelled()) {
            handler.onCompleteResponse(response);
        }
    }
}
