package io.multihead.it.springai;

import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.model.tool.StructuredOutputChatOptions;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import org.springframework.ai.tool.ToolCallback;

/** Checks of Spring AI 2, which has options with a schema. */
final class CheckVersion {
    private CheckVersion() {}

    /** Returns options with tools that the model shows and does not execute. */
    static ChatOptions shown(ToolCallback... tools) {
        return ToolCallingChatOptions.builder().toolCallbacks(tools).build();
    }

    /** Requires that answers are valid against a schema. */
    static void run(CheckTools.Models models) {
        String schema =
                "{\"type\": \"object\", \"properties\": {\"yes\": {\"type\": \"boolean\"}}, \"required\": [\"yes\"]}";
        ChatOptions options =
                StructuredOutputChatOptions.builder().outputSchema(schema).build();
        for (int seed = 1; seed <= 5; seed++) {
            GenerationOptions random = GenerationOptions.DEFAULT.withSampling(Sampling.of(2, seed));
            ChatResponse response = models.of(random).call(new Prompt("Hi", options));
            String text = response.getResult().getOutput().getText();
            boolean isCut = response.getResult().getMetadata().getFinishReason().equals("LENGTH");
            CheckTools.require(
                    isCut || text.matches("\\{\\s*\"yes\":\\s*(true|false)\\s*}"), "not by the schema: " + text);
        }
        String free = models.of(GenerationOptions.DEFAULT.withMaxTokens(20)).call("Hi");
        ChatResponse response = models.of(GenerationOptions.DEFAULT.withMaxTokens(20))
                .call(new Prompt("Hi", StructuredOutputChatOptions.builder().build()));
        CheckTools.require(
                free.equals(response.getResult().getOutput().getText()), "another text without a schema: " + response);
    }
}
