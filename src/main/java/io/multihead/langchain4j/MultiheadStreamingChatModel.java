package io.multihead.langchain4j;

import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import io.multihead.internal.base.Checks;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * langchain4j's streaming chat model with the weights and sessions of a {@link MultiheadChatModel}. The answer is generated on the calling thread,
 * which calls the handler, or on a thread of an executor, so that the call returns at once.
 *
 * <p>Each exception of a method of the handler is passed to its {@code onError}. The answer continues, and {@code onCompleteResponse} is called at
 * its end. Exceptions of {@code onError} are logged. Tool calls arrive in parts, too; calls without a mark (Llama 3) arrive at the end of the
 * answer. After its handle was canceled, a handler is not called again. With versions of langchain4j's core without handles, streams cannot be
 * canceled, and have only parts of text.
 *
 * <p>Thread-safe. The streaming model need not be closed; it can be used until the model from which it was made is closed.
 */
public final class MultiheadStreamingChatModel implements StreamingChatModel {
    /** Whether this version of langchain4j passes parts of calls, and a handle with each part, to handlers. */
    private static final boolean HAS_HANDLES = Arrays.stream(StreamingChatResponseHandler.class.getMethods())
            .anyMatch(method -> method.getName().equals("onPartialToolCall") && method.getParameterCount() == 2);

    private final MultiheadChatModel model;
    private final Executor executor;

    private MultiheadStreamingChatModel(MultiheadChatModel model, Executor executor) {
        this.model = model;
        this.executor = executor;
    }

    /**
     * {@return a model that streams the answers of another model, on the calling thread}
     *
     * @param model the model whose weights and sessions are used; the caller closes it
     */
    public static MultiheadStreamingChatModel of(MultiheadChatModel model) {
        return of(model, Runnable::run);
    }

    /**
     * {@return a model that streams the answers of another model, on threads of an executor}
     *
     * @param model the model whose weights and sessions are used; the caller closes it
     * @param executor runs one task for each request, as {@link java.util.concurrent.Executors#newVirtualThreadPerTaskExecutor} does on a virtual
     *     thread. A rejected task reaches {@code onError} as a {@link RateLimitException}. The caller closes the executor
     */
    public static MultiheadStreamingChatModel of(MultiheadChatModel model, Executor executor) {
        return new MultiheadStreamingChatModel(Checks.notNull(model, "model"), Checks.notNull(executor, "executor"));
    }

    @Override
    public Set<Capability> supportedCapabilities() {
        return model.supportedCapabilities();
    }

    /** {@return the listeners of the model that answers} */
    @Override
    public List<ChatModelListener> listeners() {
        return model.listeners();
    }

    @Override
    public ChatRequestParameters defaultRequestParameters() {
        return model.defaultRequestParameters();
    }

    @Override
    public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
        ChatParts parts = HAS_HANDLES
                ? CancellableParts.of(handler, model.call().thinking().returned())
                : new ChatParts(handler);
        try {
            executor.execute(() -> answer(request, parts));
        } catch (RejectedExecutionException full) {
            parts.fail(new RateLimitException("executor: " + full.getMessage(), full));
        }
    }

    private void answer(ChatRequest request, ChatParts parts) {
        ChatResponse response;
        try {
            response = model.call().answer(request, parts, parts::isCancelled);
        } catch (Throwable failed) {
            parts.fail(failed);
            if (failed instanceof Error error) {
                throw error;
            }
            return;
        }
        parts.complete(response);
    }
}
