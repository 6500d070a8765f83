package io.multihead.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.PartialThinking;
import dev.langchain4j.model.chat.response.PartialThinkingContext;
import dev.langchain4j.model.chat.response.PartialToolCall;
import dev.langchain4j.model.chat.response.PartialToolCallContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import io.multihead.decoder.ToolCall;

/** Passes the parts of an answer to a handler, with a handle that ends the answer after the current token. */
final class CancellableParts extends ChatParts implements StreamingHandle {
    private final PartialResponseContext context = new PartialResponseContext(this);
    private final boolean thinking;
    private volatile boolean cancelled;

    private CancellableParts(StreamingChatResponseHandler handler, boolean thinking) {
        super(handler);
        this.thinking = thinking;
    }

    /**
     * Returns the parts as {@link ChatParts}, which a caller can name with an older core without loading this class.
     *
     * @param thinking whether the handler receives thoughts
     */
    static ChatParts of(StreamingChatResponseHandler handler, boolean thinking) {
        return new CancellableParts(handler, thinking);
    }

    @Override
    void deliver(String text) {
        handler.onPartialResponse(new PartialResponse(text), context);
    }

    @Override
    public void onReasoning(String part) {
        if (thinking) {
            call(() -> handler.onPartialThinking(new PartialThinking(part), new PartialThinkingContext(this)));
        }
    }

    @Override
    public void onCallPart(int index, String id, String name, String arguments) {
        if (!arguments.isEmpty()) {
            PartialToolCall part = PartialToolCall.builder()
                    .index(index)
                    .id(id)
                    .name(name)
                    .partialArguments(arguments)
                    .build();
            call(() -> handler.onPartialToolCall(part, new PartialToolCallContext(this)));
        }
    }

    @Override
    public void onCall(int index, ToolCall call) {
        ToolExecutionRequest request = ToolExecutionRequest.builder()
                .id(call.id())
                .name(call.name())
                .arguments(call.arguments())
                .build();
        call(() -> handler.onCompleteToolCall(new CompleteToolCall(index, request)));
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
