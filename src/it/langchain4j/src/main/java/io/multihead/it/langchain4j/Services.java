package io.multihead.it.langchain4j;

import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.TokenStream;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.SessionOptions;
import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import io.multihead.langchain4j.MultiheadChatModel;
import io.multihead.langchain4j.MultiheadStreamingChatModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Requires that langchain4j's AI services return the answers of the chat model, with a small model with random weights.
 */
public final class Services {
    private static final String SYSTEM = "Be brief.";

    /** A service, which is an interface in langchain4j. */
    interface Assistant {
        @dev.langchain4j.service.SystemMessage(SYSTEM)
        String answer(String question);

        Result<String> plain(String question);
    }

    /** A service with streams. */
    interface StreamingAssistant {
        @dev.langchain4j.service.SystemMessage(SYSTEM)
        TokenStream answer(String question);
    }

    /** A tool. */
    public static final class Clock {
        /** The requested zones. */
        final List<String> asked = new ArrayList<>();

        /** Returns the time of a zone. */
        @Tool("the time")
        public String time(@P(name = "zone", value = "such as UTC") String zone) {
            asked.add(zone);
            return "noon";
        }
    }

    private Services() {}

    public static void main(String[] args) throws Exception {
        Path file = Files.createTempFile("services", ".gguf");
        FamilyModel.writeChat(file, "{{ messages }}", 2048);
        try (MultiheadChatModel model = MultiheadChatModel.builder()
                .path(file)
                .chatTemplate(ChatTemplate.CHATML)
                .sessions(SessionOptions.DEFAULT.withSessions(2))
                .generation(GenerationOptions.DEFAULT.withMaxTokens(12))
                .build()) {
            answers(model);
            memory(model);
            stream(model);
            tools(file);
            System.out.println("langchain4j: services have the answers of the model");
        } finally {
            Files.delete(file);
        }
    }

    private static String direct(MultiheadChatModel model, ChatMessage... messages) {
        return model.chat(messages).aiMessage().text();
    }

    private static void answers(MultiheadChatModel model) {
        Assistant assistant = AiServices.create(Assistant.class, model);
        String expected = direct(model, SystemMessage.from(SYSTEM), UserMessage.from("Hi"));
        require(assistant.answer("Hi").equals(expected), "another answer");
        Result<String> plain = assistant.plain("Hi");
        ChatResponse response = model.chat(List.of(UserMessage.from("Hi")));
        require(plain.content().equals(response.aiMessage().text()), "another answer without a message of the system");
        require(plain.tokenUsage().equals(response.tokenUsage()), "another number of tokens");
        require(plain.finishReason() == response.finishReason(), "another reason");
    }

    /** Requires that the whole chat is passed when it continues. */
    private static void memory(MultiheadChatModel model) {
        Assistant assistant = AiServices.builder(Assistant.class)
                .chatModel(model)
                .chatMemory(MessageWindowChatMemory.withMaxMessages(10))
                .build();
        Result<String> first = assistant.plain("Hi");
        Result<String> second = assistant.plain("And?");
        ChatResponse expected = model.chat(Arrays.asList(
                UserMessage.from("Hi"),
                dev.langchain4j.data.message.AiMessage.from(first.content()),
                UserMessage.from("And?")));
        require(second.content().equals(expected.aiMessage().text()), "another answer with a memory");
        require(
                second.tokenUsage().inputTokenCount() > first.tokenUsage().inputTokenCount(),
                "the memory has no effect");
    }

    private static void stream(MultiheadChatModel model) {
        StreamingAssistant assistant =
                AiServices.create(StreamingAssistant.class, MultiheadStreamingChatModel.of(model));
        StringBuilder streamed = new StringBuilder();
        CompletableFuture<ChatResponse> complete = new CompletableFuture<>();
        assistant
                .answer("Hi")
                .onPartialResponse(streamed::append)
                .onCompleteResponse(complete::complete)
                .onError(complete::completeExceptionally)
                .start();
        String expected = direct(model, SystemMessage.from(SYSTEM), UserMessage.from("Hi"));
        require(complete.join().aiMessage().text().equals(expected), "another answer of a stream");
        require(streamed.toString().equals(expected), "other parts of a stream");
    }

    /**
     * Requires that a tool is called. A constraint makes the model write a call and then an answer, since random
     * weights write neither.
     */
    private static void tools(Path file) {
        String call =
                "<think>Look.</think>See: <tool_call>\n{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call>";
        AtomicInteger written = new AtomicInteger();
        TokenConstraint writing = vocabulary -> {
            String text = written.getAndIncrement() % 2 == 0 ? call : "It is noon.";
            String literal = text.replace("\"", "\\\"").replace("\n", "\\n");
            return Grammar.ofGbnf("root ::= \"" + literal + "\"").begin(vocabulary);
        };
        try (MultiheadChatModel model = MultiheadChatModel.builder()
                .path(file)
                .chatTemplate(ChatTemplate.QWEN_3)
                .generation(GenerationOptions.DEFAULT.withMaxTokens(300).withConstraint(writing))
                .build()) {
            Clock clock = new Clock();
            Assistant assistant = AiServices.builder(Assistant.class)
                    .chatModel(model)
                    .chatMemory(MessageWindowChatMemory.withMaxMessages(10))
                    .tools(clock)
                    .build();
            for (int turn = 1; turn <= 3; turn++) {
                Result<String> result = assistant.plain("What time is it?");
                require(result.content().equals("It is noon."), "another answer: " + result.content());
                require(result.toolExecutions().size() == 1, result.toolExecutions() + " were executed");
                require(clock.asked.equals(Collections.nCopies(turn, "UTC")), "asked for " + clock.asked);
            }
            StreamingAssistant streaming = AiServices.builder(StreamingAssistant.class)
                    .streamingChatModel(MultiheadStreamingChatModel.of(model))
                    .tools(clock)
                    .build();
            StringBuilder streamed = new StringBuilder();
            CompletableFuture<ChatResponse> complete = new CompletableFuture<>();
            streaming
                    .answer("And now?")
                    .onPartialResponse(streamed::append)
                    .onCompleteResponse(complete::complete)
                    .onError(complete::completeExceptionally)
                    .start();
            require(complete.join().aiMessage().text().equals("It is noon."), "another answer of a stream");
            require(streamed.toString().equals("See:It is noon."), "other parts of a stream: " + streamed);
            require(clock.asked.size() == 4, "a stream asked for " + clock.asked);
        }
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
