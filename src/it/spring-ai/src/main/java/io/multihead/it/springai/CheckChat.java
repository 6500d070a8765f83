package io.multihead.it.springai;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.content.Media;
import org.springframework.ai.model.tool.ToolCallingChatOptions;

/** Requires that Spring AI's calls return the text of a session, with a small model with random weights. */
final class CheckChat {
    private static final GenerationOptions OPTIONS = GenerationOptions.DEFAULT.withMaxTokens(20);

    private static final String TEMPLATE =
            "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
                    + " + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

    private CheckChat() {}

    static void run(Compute cpu) throws IOException {
        Path file = Files.createTempFile("chat", ".gguf");
        FamilyModel.writeChat(file, TEMPLATE, 2048);
        try (LanguageModel loaded = LanguageModel.load(cpu, file);
                Sessions sessions = loaded.sessions(SessionOptions.DEFAULT)) {
            ChatModel model = new MultiheadChatModel("tiny", sessions, OPTIONS);
            String expected = text(sessions, OPTIONS, "Hi");
            ChatResponse response = model.call(new Prompt("Hi"));
            require(response.getResult().getOutput().getText().equals(expected), "another text");
            require(model.call("Hi").equals(expected), "another text of a string");
            require(response.getMetadata().getUsage().getCompletionTokens() <= 20, "number of tokens");
            require(response.getMetadata().getUsage().getPromptTokens() > 5, "tokens of the prompt");
            List<ChatResponse> parts =
                    model.stream(new Prompt("Hi")).collectList().block();
            String streamed = parts.stream()
                    .map(part -> part.getResult().getOutput().getText())
                    .collect(Collectors.joining());
            require(streamed.equals(expected), "another text of a stream: " + streamed);
            String reason = response.getResult().getMetadata().getFinishReason();
            require(parts.getLast().getResult().getMetadata().getFinishReason().equals(reason), "reason of a stream");
            // the stream is canceled after two parts: no further event arrives, and the model answers as before
            require(model.stream(new Prompt("Hi")).take(2).count().block() == 2, "parts of a cancelled stream");
            require(model.call("Hi").equals(expected), "another text after a cancelled stream");
            options(model, expected);
            CheckClient.run(model, expected);
            CheckTools.run(loaded);
            histories(model);
            seeds(sessions, model);
            nothing(cpu);
            String chat = model.call(new Prompt(new SystemMessage("Be brief."), new UserMessage("Hi")))
                    .getResult()
                    .getOutput()
                    .getText();
            require(!chat.equals(expected), "a message of the system has no effect");
            model.call(new Prompt(new UserMessage("Hi"), new AssistantMessage("Hello."), new UserMessage("?")));
            System.out.println("Spring AI: chats, a session's texts");
        } finally {
            Files.delete(file);
        }
    }

    /** Checks chats that result from a memory of the newest messages. */
    private static void histories(ChatModel model) {
        UserMessage question = new UserMessage("Hi");
        AssistantMessage answer = new AssistantMessage("Hello.");
        for (List<Message> messages : List.<List<Message>>of(
                List.of(answer, question),
                List.of(question, question),
                List.of(question, answer, new SystemMessage("Be brief."), question),
                List.of(question, new AssistantMessage(""), question))) {
            ChatResponse response = model.call(new Prompt(messages));
            require(response.getMetadata().getUsage().getCompletionTokens() > 0, "no answer to " + messages);
        }
    }

    /** Checks a chat for which the template writes nothing. */
    private static void nothing(Compute cpu) throws IOException {
        Path file = Files.createTempFile("empty", ".gguf");
        FamilyModel.writeWithoutBegin(file, FamilyModel.PLAIN_TEMPLATE);
        try (LanguageModel loaded = LanguageModel.load(cpu, file);
                Sessions sessions = loaded.sessions(SessionOptions.DEFAULT)) {
            new MultiheadChatModel("empty", sessions, OPTIONS).call(new Prompt(new AssistantMessage("")));
            throw new AssertionError("an answer to nothing");
        } catch (IllegalArgumentException named) {
            require(named.getMessage().startsWith("messages: 1 messages, for which"), named.getMessage());
        } finally {
            Files.delete(file);
        }
    }

    private static void seeds(Sessions sessions, ChatModel model) {
        Prompt warm = new Prompt("Hi", ChatOptions.builder().temperature(5.0).build());
        ChatResponse first = model.call(warm);
        ChatResponse second = model.call(warm);
        Long seed = first.getMetadata().get("seed");
        require(seed != null && !seed.equals(second.getMetadata().get("seed")), "seeds: " + seed);
        ChatResponse again = new MultiheadChatModel("tiny", sessions, OPTIONS.withSampling(Sampling.of(5, seed)))
                .call(new Prompt("Hi"));
        require(
                again.getResult().getOutput().equals(first.getResult().getOutput()),
                "another text of the same seed: " + again);
    }

    private static void options(ChatModel model, String expected) {
        ChatOptions three =
                ChatOptions.builder().maxTokens(3).topK(1).temperature(1.0).build();
        ChatResponse few = model.call(new Prompt("Hi", three));
        require(few.getMetadata().getUsage().getCompletionTokens() == 3, "maxTokens");
        require(expected.startsWith(few.getResult().getOutput().getText().substring(0, 1)), "topK");
        refused(model, ChatOptions.builder().model("another").build(), "model");
        refused(
                model,
                ToolCallingChatOptions.builder().toolCallbacks(CheckClient.TOOL).build(),
                "toolCallbacks");
        Media picture = Media.builder()
                .mimeType(Media.Format.IMAGE_PNG)
                .data(new byte[1])
                .build();
        UserMessage seen = UserMessage.builder().text("Hi").media(picture).build();
        refused(model, new Prompt(seen), "message of media; expected text");
        ofProviders(model, expected);
    }

    /**
     * Requires that options and messages of other providers are refused. Spring AI's classes are accepted if they
     * request nothing unsupported.
     */
    private static void ofProviders(ChatModel model, String expected) {
        ChatOptions plain = ChatOptions.builder().frequencyPenalty(0.0).build();
        ChatOptions other = (ChatOptions) Proxy.newProxyInstance(
                CheckChat.class.getClassLoader(),
                new Class<?>[] {ChatOptions.class},
                (proxy, method, arguments) -> method.invoke(plain, arguments));
        refused(model, other, "options");
        AssistantMessage thought = new AssistantMessage("Hello.") {};
        refused(model, new Prompt(new UserMessage("Hi"), thought, new UserMessage("?")), "message: ");
        for (ChatOptions own : List.of(
                plain,
                ToolCallingChatOptions.builder().toolCallbacks(List.of()).build(),
                ToolCallingChatOptions.builder().build())) {
            String text =
                    model.call(new Prompt("Hi", own)).getResult().getOutput().getText();
            require(text.equals(expected), "another text with " + own);
        }
    }

    private static void refused(ChatModel model, ChatOptions options, String name) {
        refused(model, new Prompt("Hi", options), name + ": ");
    }

    private static void refused(ChatModel model, Prompt prompt, String message) {
        try {
            model.call(prompt);
        } catch (UnsupportedOperationException named) {
            require(named.getMessage().startsWith(message), named.getMessage());
            return;
        }
        throw new AssertionError("ignored: " + message);
    }

    private static String text(Sessions sessions, GenerationOptions options, String question) {
        try (Session session = sessions.open()) {
            return session.appendChat(List.of(io.multihead.decoder.ChatMessage.user(question)))
                    .generate(options)
                    .text();
        }
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
