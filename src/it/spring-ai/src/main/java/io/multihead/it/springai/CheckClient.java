package io.multihead.it.springai;

import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.client.advisor.MessageChatMemoryAdvisor;
import org.springframework.ai.chat.memory.ChatMemory;
import org.springframework.ai.chat.memory.MessageWindowChatMemory;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.tool.ToolCallback;
import org.springframework.ai.tool.definition.ToolDefinition;

/**
 * Requires that a {@code ChatClient} gets the model's texts, refuses tools with an error that names them, and continues when its memory
 * slides.
 */
final class CheckClient {
    private static final int TURNS = 12;

    /** A tool, which is refused by a model with a template without calls. */
    static final ToolCallback TOOL = new ToolCallback() {
        @Override
        public ToolDefinition getToolDefinition() {
            return ToolDefinition.builder().name("tool").inputSchema("{}").build();
        }

        @Override
        public String call(String input) {
            return "";
        }
    };

    private CheckClient() {}

    static void run(ChatModel model, String expected) {
        ChatClient client = ChatClient.create(model);
        require(expected.equals(client.prompt("Hi").call().content()), "another text of a client");
        List<String> parts =
                client.prompt("Hi").stream().content().collectList().block();
        String streamed = parts.stream().filter(Objects::nonNull).collect(Collectors.joining());
        require(expected.equals(streamed), "another text of a client's stream: " + streamed);
        try {
            client.prompt("Hi").toolCallbacks(TOOL).call().content();
            throw new AssertionError("tools of a client are ignored");
        } catch (UnsupportedOperationException named) {
            require(named.getMessage().startsWith("toolCallbacks: 1 of them"), named.getMessage());
        }
        for (int window = 3; window <= 6; window++) {
            ChatMemory memory =
                    MessageWindowChatMemory.builder().maxMessages(window).build();
            ChatClient remembering = ChatClient.builder(model)
                    .defaultSystem("Be brief.")
                    .defaultAdvisors(MessageChatMemoryAdvisor.builder(memory).build())
                    .build();
            for (int turn = 0; turn < TURNS; turn++) {
                String answer = remembering
                        .prompt("Question " + turn)
                        .advisors(advisors -> advisors.param(ChatMemory.CONVERSATION_ID, "chat"))
                        .call()
                        .content();
                require(answer != null, "no answer in turn " + turn + " of a window of " + window);
            }
        }
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
