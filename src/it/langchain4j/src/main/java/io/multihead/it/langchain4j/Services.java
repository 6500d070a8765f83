package io.multihead.it.langchain4j;

import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.TokenStream;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.SessionOptions;
import io.multihead.langchain4j.MultiheadChatModel;
import io.multihead.langchain4j.MultiheadStreamingChatModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Requires that langchain4j's AI services have the answers of the chat model, with a small model of random weights. */
public final class Services {
    private static final String SYSTEM = "Be brief.";

    /** What a service is in langchain4j: an interface. */
    interface Assistant {
        @dev.langchain4j.service.SystemMessage(SYSTEM)
        String answer(String question);

        Result<String> plain(String question);
    }

    /** The same, streamed. */
    interface StreamingAssistant {
        @dev.langchain4j.service.SystemMessage(SYSTEM)
        TokenStream answer(String question);
    }

    /** A tool, which the model does not take. */
    public static final class Clock {
        /** Returns the time. */
        @Tool("the time")
        public String time() {
            return "noon";
        }
    }

    private Services() {}

    public static void main(String[] args) throws Exception {
        Path file = Files.createTempFile("services", ".gguf");
        FamilyModel.write(file);
        try (MultiheadChatModel model = MultiheadChatModel.builder()
                .path(file)
                .chatTemplate(ChatTemplate.CHATML)
                .sessions(SessionOptions.DEFAULT.withSessions(2))
                .generation(GenerationOptions.DEFAULT.withMaxTokens(12))
                .build()) {
            answers(model);
            memory(model);
            stream(model);
            tools(model);
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

    /** A chat that goes on is given whole. */
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

    private static void tools(MultiheadChatModel model) {
        Assistant assistant = AiServices.builder(Assistant.class)
                .chatModel(model)
                .tools(new Clock())
                .build();
        try {
            assistant.plain("What time is it?");
        } catch (UnsupportedFeatureException named) {
            require(named.getMessage().startsWith("tool"), named.getMessage());
            return;
        }
        throw new AssertionError("tools are ignored");
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
