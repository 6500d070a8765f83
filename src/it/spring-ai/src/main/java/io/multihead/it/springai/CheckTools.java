package io.multihead.it.springai;

import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.support.ToolCallbacks;
import org.springframework.ai.tool.annotation.Tool;
import org.springframework.ai.tool.annotation.ToolParam;

/**
 * Requires that tools are called and answered, with and without a stream. A constraint makes the model write calls,
 * since random weights write none.
 */
final class CheckTools {
    private static final String CALL = "<think>Look.</think>See: <tool_call>\n"
            + "{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call>";
    static final String ANSWER = "It is noon.";

    private CheckTools() {}

    /** A tool. */
    static final class Clock {
        final List<String> asked = new ArrayList<>();

        @Tool(description = "The time of a zone")
        String time(@ToolParam(description = "such as UTC") String zone) {
            asked.add(zone);
            return "noon";
        }
    }

    static void run(LanguageModel loaded) {
        LanguageModel model = loaded.withChatTemplate(ChatTemplate.QWEN_3);
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            Models models = new Models(sessions);
            calls(models);
            client(models);
            CheckVersion.run(models);
        }
    }

    /** Models that share sessions. */
    record Models(Sessions sessions) {
        /** Returns a model with options for prompts without options. */
        MultiheadChatModel of(GenerationOptions options) {
            return new MultiheadChatModel("tiny", sessions, options);
        }

        /** Returns a model with answers that alternate between a call and a text. */
        MultiheadChatModel writing() {
            return of(GenerationOptions.DEFAULT.withMaxTokens(300).withConstraint(writtenInTurns()));
        }
    }

    private static TokenConstraint writtenInTurns() {
        AtomicInteger written = new AtomicInteger();
        return vocabulary -> {
            String text = written.getAndIncrement() % 2 == 0 ? CALL : ANSWER;
            String literal = text.replace("\"", "\\\"").replace("\n", "\\n");
            return Grammar.ofGbnf("root ::= \"" + literal + "\"").begin(vocabulary);
        };
    }

    private static void calls(Models models) {
        ChatOptions options = CheckVersion.shown(ToolCallbacks.from(new Clock()));
        ChatResponse response = models.writing().call(new Prompt("Time?", options));
        AssistantMessage message = response.getResult().getOutput();
        require(message.getText().equals("See:"), "another text: " + message);
        require(message.getToolCalls().size() == 1, "other calls: " + message);
        AssistantMessage.ToolCall call = message.getToolCalls().getFirst();
        require(call.name().equals("time") && call.arguments().equals("{\"zone\": \"UTC\"}"), "another call: " + call);
        require(response.getResult().getMetadata().getFinishReason().equals("TOOL_CALLS"), "another reason");
        require("Look.".equals(response.getResult().getMetadata().get("thinking")), "no thought");
        List<ChatResponse> parts = models.writing().stream(new Prompt("Time?", options))
                .collectList()
                .block();
        String text = parts.stream()
                .map(part -> part.getResult().getOutput().getText())
                .collect(Collectors.joining());
        String thoughts = parts.stream()
                .map(part -> (String) part.getResult().getMetadata().get("thinking"))
                .filter(Objects::nonNull)
                .collect(Collectors.joining());
        require(text.equals("See:") && thoughts.equals("Look."), "other parts: " + text + " " + thoughts);
        require(
                parts.getLast().getResult().getOutput().getToolCalls().equals(message.getToolCalls()),
                "other calls of a stream");
    }

    private static void client(Models models) {
        Clock clock = new Clock();
        for (int turn = 1; turn <= 2; turn++) {
            String answer = ChatClient.create(models.writing())
                    .prompt("Time?")
                    .tools(clock)
                    .call()
                    .content();
            require(ANSWER.equals(answer), "another answer of a client: " + answer);
        }
        List<String> parts = ChatClient.create(models.writing()).prompt("Time?").tools(clock).stream()
                .content()
                .collectList()
                .block();
        String streamed = parts.stream().filter(Objects::nonNull).collect(Collectors.joining());
        require(streamed.endsWith(ANSWER), "another answer of a stream: " + streamed);
        require(clock.asked.equals(Collections.nCopies(3, "UTC")), "asked for " + clock.asked);
    }

    static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
