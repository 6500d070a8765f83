package io.multihead.langchain4j;

import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import io.multihead.internal.base.Checks;
import java.util.Arrays;

/**
 * langchain4j's streaming chat model, of the weights and sessions of a {@link MultiheadChatModel}. The answer is generated on the calling thread, which
 * calls the handler: a virtual thread for each request is one way to have it elsewhere. What {@code onPartialResponse} throws ends the
 * answer and reaches {@code onError}. After its handle was cancelled, a handler is not called again; versions of langchain4j's core
 * from 1.0 on that have no handles yet cannot cancel.
 *
 * <p>Thread-safe. Needs no closing: it ends with the model that it was made of.
 */
public final class MultiheadStreamingChatModel implements StreamingChatModel {
    /** Whether handlers are given a handle with each part. */
    private static final boolean HAS_HANDLES = Arrays.stream(StreamingChatResponseHandler.class.getMethods())
            .anyMatch(method -> method.getName().equals("onPartialResponse") && method.getParameterCount() == 2);

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

    @Override
    public ChatRequestParameters defaultRequestParameters() {
        return NoParameters.INSTANCE;
    }

    @Override
    public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
        ChatParts parts = HAS_HANDLES ? CancellableParts.of(handler) : new ChatParts(handler);
        ChatResponse response;
        try {
            response = model.answer(request, parts);
        } catch (Throwable failed) {
            if (!parts.isCancelled()) {
                handler.onError(failed);
            }
            if (failed instanceof Error error) {
                throw error;
            }
            return;
        }
        if (!parts.isCancelled()) {
            handler.onCompleteResponse(response);
        }
    }
}
