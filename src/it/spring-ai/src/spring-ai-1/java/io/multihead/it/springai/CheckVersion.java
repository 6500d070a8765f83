package io.multihead.it.springai;

import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.client.advisor.ToolCallAdvisor;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import org.springframework.ai.tool.ToolCallback;

/** Checks of Spring AI 1. */
final class CheckVersion {
    private CheckVersion() {}

    /** Returns options with tools that the model shows and does not execute. */
    static ChatOptions shown(ToolCallback... tools) {
        return ToolCallingChatOptions.builder()
                .toolCallbacks(tools)
                .internalToolExecutionEnabled(false)
                .build();
    }

    /** Requires that an advisor executes tools instead of the model, and that unknown names of tools are refused. */
    static void run(CheckTools.Models models) {
        CheckTools.Clock clock = new CheckTools.Clock();
        String answer = ChatClient.builder(models.writing())
                .defaultAdvisors(ToolCallAdvisor.builder().build())
                .build()
                .prompt("Time?")
                .tools(clock)
                .call()
                .content();
        CheckTools.require(CheckTools.ANSWER.equals(answer), "another answer with an advisor: " + answer);
        CheckTools.require(clock.asked.size() == 1, "asked for " + clock.asked);
        try {
            ChatClient.create(models.writing())
                    .prompt("Time?")
                    .toolNames("nowhere")
                    .call()
                    .content();
            throw new AssertionError("names of tools are ignored");
        } catch (IllegalStateException named) {
            CheckTools.require(String.valueOf(named.getMessage()).contains("nowhere"), String.valueOf(named));
        }
    }
}
