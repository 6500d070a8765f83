package io.multihead.it.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.DefaultChatRequestParameters;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.langchain4j.MultiheadChatModel;
import io.multihead.langchain4j.MultiheadStreamingChatModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The chat models with an older core and a small model with random weights. Answers equal the answers of a session,
 * with and without a stream.
 */
final class OlderChat {
    private static final GenerationOptions OPTIONS = GenerationOptions.DEFAULT.withMaxTokens(12);
    private static final List<ChatMessage> CHAT = List.of(
            SystemMessage.from("Be brief."), UserMessage.from("Hi"), AiMessage.from("Hello."), UserMessage.from("?"));

    private OlderChat() {}

    /** Parameters of a provider's class. */
    private static final class OfProvider extends DefaultChatRequestParameters {
        OfProvider() {
            super(DefaultChatRequestParameters.builder());
        }
    }

    static void run() throws IOException {
        Path file = Files.createTempFile("older", ".gguf");
        FamilyModel.write(file);
        try (MultiheadChatModel model = MultiheadChatModel.builder()
                .path(file)
                .chatTemplate(ChatTemplate.CHATML)
                .generation(OPTIONS)
                .build()) {
            String expected = text(model);
            ChatResponse response = model.chat(CHAT);
            require(response.aiMessage().text().equals(expected), "another answer: " + response.aiMessage());
            require(streamed(model).equals(expected), "another answer of a stream");
            refused(model);
        } finally {
            Files.delete(file);
        }
        tools();
        System.out.println("older core: a session's answers, and calls of tools");
    }

    /** Requires that a model with random weights calls a required tool. */
    private static void tools() throws IOException {
        Path file = Files.createTempFile("older", ".gguf");
        FamilyModel.writeChat(file, "{{ messages }}", 2048);
        ToolSpecification paint = ToolSpecification.builder()
                .name("paint")
                .parameters(JsonObjectSchema.builder()
                        .addEnumProperty("colour", List.of("red", "blue"))
                        .required("colour")
                        .build())
                .build();
        try (MultiheadChatModel model = MultiheadChatModel.builder()
                .path(file)
                .chatTemplate(ChatTemplate.QWEN_3)
                .generation(GenerationOptions.DEFAULT.withMaxTokens(400))
                .build()) {
            ChatRequest.Builder request = ChatRequest.builder().toolSpecifications(paint);
            AiMessage answer = model.chat(request.messages(CHAT)
                            .toolChoice(ToolChoice.REQUIRED)
                            .build())
                    .aiMessage();
            require(answer.hasToolExecutionRequests(), "no calls: " + answer);
            List<ChatMessage> chat = new ArrayList<>(CHAT);
            chat.add(answer);
            for (ToolExecutionRequest call : answer.toolExecutionRequests()) {
                require(call.arguments().matches("\\{\\s*\"colour\":\\s*\"(red|blue)\"\\s*}"), "another call: " + call);
                chat.add(ToolExecutionResultMessage.from(call, "wet"));
            }
            ChatResponse last = model.chat(
                    request.messages(chat).toolChoice(ToolChoice.AUTO).build());
            require(last.tokenUsage().outputTokenCount() > 0, "no answer to results");
        } finally {
            Files.delete(file);
        }
    }

    private static String text(MultiheadChatModel model) {
        try (Sessions sessions = model.languageModel().sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            return session.appendChat(List.of(
                            io.multihead.decoder.ChatMessage.system("Be brief."),
                            io.multihead.decoder.ChatMessage.user("Hi"),
                            io.multihead.decoder.ChatMessage.assistant("Hello."),
                            io.multihead.decoder.ChatMessage.user("?")))
                    .generate(OPTIONS)
                    .text();
        }
    }

    private static String streamed(MultiheadChatModel model) {
        StringBuilder parts = new StringBuilder();
        String[] whole = new String[1];
        MultiheadStreamingChatModel.of(model).chat(CHAT, new StreamingChatResponseHandler() {
            @Override
            public void onPartialResponse(String part) {
                parts.append(part);
            }

            @Override
            public void onCompleteResponse(ChatResponse response) {
                whole[0] = response.aiMessage().text();
            }

            @Override
            public void onError(Throwable error) {
                throw new AssertionError(error);
            }
        });
        require(parts.toString().equals(whole[0]), "other parts of a stream: " + parts);
        return parts.toString();
    }

    private static void refused(MultiheadChatModel model) {
        refused(model, "parameters: ", ChatRequest.builder().messages(CHAT).parameters(new OfProvider()));
        refused(model, "modelName: ", ChatRequest.builder().messages(CHAT).modelName("another"));
        refused(model, "name of a USER message: ", ChatRequest.builder().messages(UserMessage.from("Ann", "Hi")));
    }

    private static void refused(MultiheadChatModel model, String begin, ChatRequest.Builder request) {
        try {
            model.chat(request.build());
        } catch (UnsupportedFeatureException named) {
            require(named.getMessage().startsWith(begin), named.getMessage());
            return;
        }
        throw new AssertionError("ignored: " + begin);
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
