package io.multihead.it.springai;

import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import org.springframework.ai.model.tool.ToolCallingManager;
import org.springframework.ai.model.tool.ToolExecutionResult;
import reactor.core.publisher.Flux;

/** A chat model for Spring AI 1, which executes tools itself unless {@code internalToolExecutionEnabled} is false. */
interface SpringChatModel extends ChatModel {
    /** Returns the options for prompts without options. */
    ChatOptions getOptions();

    @Override
    default ChatOptions getDefaultOptions() {
        return getOptions();
    }

    /** Executes the calls of a response and answers again, or returns a response unchanged. */
    default ChatResponse executed(Prompt prompt, ChatResponse response) {
        if (!isExecuted(prompt, response)) {
            return response;
        }
        ToolExecutionResult result = execute(prompt, response);
        return result.returnDirect() ? direct(response, result) : call(next(prompt, result));
    }

    /** Executes the calls of a stream, and streams the next answer after it. */
    default Flux<ChatResponse> executed(Prompt prompt, Flux<ChatResponse> parts) {
        return parts.concatMap(part -> {
            if (!isExecuted(prompt, part)) {
                return Flux.just(part);
            }
            ToolExecutionResult result = execute(prompt, part);
            return result.returnDirect() ? Flux.just(direct(part, result)) : stream(next(prompt, result));
        });
    }

    private static boolean isExecuted(Prompt prompt, ChatResponse response) {
        return response.hasToolCalls()
                && prompt.getOptions() instanceof ToolCallingChatOptions options
                && ToolCallingChatOptions.isInternalToolExecutionEnabled(options);
    }

    private static ToolExecutionResult execute(Prompt prompt, ChatResponse response) {
        return ToolCallingManager.builder().build().executeToolCalls(prompt, response);
    }

    /** Returns the results as the answer. */
    private static ChatResponse direct(ChatResponse response, ToolExecutionResult result) {
        return ChatResponse.builder()
                .from(response)
                .generations(ToolExecutionResult.buildGenerations(result))
                .build();
    }

    private static Prompt next(Prompt prompt, ToolExecutionResult result) {
        return new Prompt(result.conversationHistory(), prompt.getOptions());
    }
}
