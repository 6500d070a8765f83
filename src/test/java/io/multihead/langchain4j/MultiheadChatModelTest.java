package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.image.Image;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.CustomMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.DefaultChatRequestParameters;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import dev.langchain4j.model.output.FinishReason;
import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.SessionOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MultiheadChatModelTest {
    private static final String CHATML =
            "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
                    + " + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

    /**
     * {@code <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n}, with one token per byte. Each text begins with
     * the mark of a space, which has three bytes.
     */
    private static final int PROMPT_TOKENS = 1 + (3 + 7) + 1 + (3 + 1) + 1 + (3 + 10);

    private static final List<ChatMessage> CHAT = List.of(UserMessage.from("Hi"));

    @TempDir
    private Path folder;

    private MultiheadChatModel model;

    @BeforeEach
    void load() throws IOException {
        Path file = folder.resolve("tiny.gguf");
        FamilyModel.writeChat(file, CHATML);
        model = MultiheadChatModel.builder()
                .path(file)
                .sessions(SessionOptions.DEFAULT.withSessions(2).withCacheFormat(CacheFormat.F32))
                .generation(GenerationOptions.DEFAULT.withMaxTokens(8).withSampling(Sampling.of(2, 5)))
                .build();
    }

    @AfterEach
    void close() {
        model.close();
    }

    private ChatResponse chat(UnaryOperator<ChatRequest.Builder> change) {
        return model.chat(change.apply(ChatRequest.builder().messages(CHAT)).build());
    }

    @Test
    void aChatThatTheTemplateWritesAsNothingIsRefused() throws IOException {
        Path file = folder.resolve("empty.gguf");
        FamilyModel.writeWithoutBegin(file, FamilyModel.PLAIN_TEMPLATE);
        try (MultiheadChatModel plain = MultiheadChatModel.builder().path(file).build()) {
            AiMessage nothing = AiMessage.from("");
            InvalidRequestException refused =
                    assertThrows(InvalidRequestException.class, () -> plain.chat(List.of(nothing)));
            assertTrue(refused.getMessage().startsWith("messages: 1 messages, for which"), refused.getMessage());
        }
    }

    @Test
    void anAnswerHasItsTokensAndReason() {
        ChatResponse response = chat(request -> request);
        assertEquals(PROMPT_TOKENS, response.tokenUsage().inputTokenCount());
        assertTrue(response.tokenUsage().outputTokenCount() <= 8);
        assertEquals("tiny.gguf", response.modelName());
        assertEquals(
                response.aiMessage().text(),
                chat(request -> request).aiMessage().text());
        assertEquals(
                FinishReason.LENGTH, chat(request -> request.maxOutputTokens(1)).finishReason());
    }

    @Test
    void parametersOverrideThoseOfTheModel() {
        String greedy = chat(request -> request.temperature(0.0)).aiMessage().text();
        assertEquals(
                greedy,
                chat(request -> request.temperature(1.0).topK(1)).aiMessage().text());
        ChatResponse three = chat(request -> request.temperature(0.0).maxOutputTokens(3));
        assertEquals(3, three.tokenUsage().outputTokenCount());
        String stop = greedy.substring(greedy.length() - 1);
        ChatResponse stopped = chat(request -> request.temperature(0.0).stopSequences(List.of(stop)));
        assertEquals(FinishReason.STOP, stopped.finishReason());
        assertEquals(
                greedy.substring(0, greedy.indexOf(stop)), stopped.aiMessage().text());
    }

    @Test
    void parametersThatAreNotSupportedAreRefusedByName() {
        assertRefused("modelName: another; expected tiny.gguf", request -> request.modelName("another"));
        ToolSpecification clock = ToolSpecification.builder().name("clock").build();
        assertRefused("toolSpecifications: 1 of them; expected none", request -> request.toolSpecifications(clock));
        assertRefused("toolSpecifications: 1 of them; expected none", request -> request.toolSpecifications(clock)
                .toolChoice(ToolChoice.REQUIRED));
    }

    @Test
    void parametersThatAskForWhatIsDoneAnywayAreTaken() {
        String plain = chat(request -> request).aiMessage().text();
        ChatResponse response = chat(request -> request.frequencyPenalty(0.0)
                .toolSpecifications(ToolSpecification.builder().name("clock").build())
                .toolChoice(ToolChoice.NONE)
                .responseFormat(ResponseFormat.TEXT)
                .modelName("tiny.gguf")
                .stopSequences(List.of()));
        assertEquals(plain, response.aiMessage().text());
        ChatRequestParameters defaults = model.defaultRequestParameters();
        assertEquals("tiny.gguf", defaults.modelName());
        assertEquals(2.0, defaults.temperature());
        assertEquals(8, defaults.maxOutputTokens());
        ChatResponse own = chat(request -> request.parameters(defaults));
        assertEquals(plain, own.aiMessage().text());
    }

    /**
     * Parameters of a provider's class. langchain4j drops this class when it merges the parameters with a model's
     * parameters.
     */
    private static final class OfProvider extends DefaultChatRequestParameters {
        OfProvider() {
            super(DefaultChatRequestParameters.builder().maxOutputTokens(3));
        }
    }

    @Test
    void parametersOfProvidersAreRefusedByTheirClass() {
        assertRefused(
                "parameters: " + OfProvider.class.getName() + "; expected langchain4j's own",
                request -> request.parameters(new OfProvider()));
        ChatRequestParameters plain =
                ChatRequestParameters.builder().maxOutputTokens(3).build();
        ChatRequestParameters other = (ChatRequestParameters) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {ChatRequestParameters.class},
                (proxy, method, arguments) -> method.invoke(plain, arguments));
        assertRefused("parameters: " + other.getClass().getName(), request -> request.parameters(other));
        assertEquals(3, chat(request -> request.parameters(plain)).tokenUsage().outputTokenCount());
        // a stream's handler receives this failure like any other failure
        Throwable[] failure = new Throwable[1];
        MultiheadStreamingChatModel.of(model)
                .chat(
                        ChatRequest.builder().messages(CHAT).parameters(other).build(),
                        failing(error -> failure[0] = error));
        assertTrue(failure[0].getMessage().startsWith("parameters: "), failure[0].getMessage());
        // this call skips langchain4j's merge of parameters
        ChatRequest direct = ChatRequest.builder()
                .messages(CHAT)
                .parameters(new OfProvider())
                .build();
        assertThrows(UnsupportedFeatureException.class, () -> model.doChat(direct));
    }

    @Test
    void contentsOtherThanTextAreRefusedByName() {
        UserMessage user = UserMessage.from("Hi");
        assertRefused("name of a USER message: Ann; expected none", UserMessage.from("Ann", "Hi"));
        assertRefused(
                "contents of a USER message: [TEXT, IMAGE]; expected one TEXT",
                UserMessage.from(TextContent.from("Hi"), ImageContent.from("http://localhost/a.png")));
        assertRefused(
                "contents of a USER message: [TEXT, TEXT]; expected one TEXT",
                UserMessage.from(TextContent.from("Hi"), TextContent.from("there")));
        Map<String, Object> images = Map.of(
                AiMessage.GENERATED_IMAGES_KEY,
                List.of(Image.builder().url("http://localhost/a.png").build()));
        assertRefused(
                "images of an AI message: 1 of them; expected none",
                user,
                AiMessage.builder().text("Hello").attributes(images).build(),
                user);
        ToolExecutionRequest call =
                ToolExecutionRequest.builder().id("1").name("clock").build();
        String message = assertThrows(
                        InvalidRequestException.class,
                        () -> model.chat(user, AiMessage.from("Hello", List.of(call)), user))
                .getMessage();
        assertTrue(message.endsWith("calls of tools; expected none, as this template leaves them out"), message);
        assertRefused(
                "message: CUSTOM; expected SYSTEM, USER, AI or TOOL_EXECUTION_RESULT",
                user,
                CustomMessage.from(Map.of("a", "b")));
    }

    /** langchain4j keeps attributes for memories and sends them to no model. */
    @Test
    void attributesOfMessagesAreNoPartOfAPrompt() {
        UserMessage user = UserMessage.builder()
                .addContent(TextContent.from("Hi"))
                .attributes(Map.of("id", 7))
                .build();
        AiMessage answer = AiMessage.builder()
                .text("Hello.")
                .thinking("")
                .attributes(Map.of("id", 8))
                .build();
        List<ChatMessage> noted = List.of(user, answer, UserMessage.from("?"));
        List<ChatMessage> plain = List.of(UserMessage.from("Hi"), AiMessage.from("Hello."), UserMessage.from("?"));
        assertEquals(
                model.chat(plain).aiMessage().text(),
                model.chat(noted).aiMessage().text());
    }

    private void assertRefused(String begin, UnaryOperator<ChatRequest.Builder> change) {
        assertBegins(begin, assertThrows(UnsupportedFeatureException.class, () -> chat(change)));
    }

    private void assertRefused(String begin, ChatMessage... messages) {
        assertBegins(begin, assertThrows(UnsupportedFeatureException.class, () -> model.chat(messages)));
    }

    private static void assertBegins(String begin, Exception thrown) {
        assertTrue(thrown.getMessage().startsWith(begin), thrown.getMessage());
    }

    @Test
    void aConversationMayHaveASystemMessage() {
        List<ChatMessage> messages = List.of(
                SystemMessage.from("Be brief."),
                UserMessage.from("Hi"),
                AiMessage.from("Hello."),
                UserMessage.from("?"));
        ChatResponse response =
                model.chat(ChatRequest.builder().messages(messages).build());
        assertTrue(response.tokenUsage().inputTokenCount() > PROMPT_TOKENS);
    }

    @Test
    void anAnswerIsStreamed() {
        StringBuilder streamed = new StringBuilder();
        ChatResponse[] complete = new ChatResponse[1];
        MultiheadStreamingChatModel.of(model)
                .chat(ChatRequest.builder().messages(CHAT).build(), handler(streamed, complete));
        assertEquals(
                chat(request -> request).aiMessage().text(),
                complete[0].aiMessage().text());
        assertEquals(complete[0].aiMessage().text(), streamed.toString());
    }

    @Test
    void aCancelledStreamDeliversNothingMore() {
        List<String> heard = new ArrayList<>();
        MultiheadStreamingChatModel streaming = MultiheadStreamingChatModel.of(model);
        streaming.chat(ChatRequest.builder().messages(CHAT).build(), cancelling(heard, StreamingHandle::cancel));
        assertEquals(1, heard.size());
        // the model answers the next request completely
        StringBuilder streamed = new StringBuilder();
        ChatResponse[] complete = new ChatResponse[1];
        streaming.chat(ChatRequest.builder().messages(CHAT).build(), handler(streamed, complete));
        assertTrue(streamed.toString().startsWith(heard.get(0)), streamed.toString());
        assertEquals(complete[0].aiMessage().text(), streamed.toString());
    }

    /** The executor cancels the stream while the next token is computed. Another thread could do the same. */
    @Test
    void aStreamThatIsCancelledWhileATokenIsComputedDeliversNothingMore() {
        List<String> heard = new ArrayList<>();
        AtomicReference<StreamingHandle> handle = new AtomicReference<>();
        try (Compute cpu = Compute.on(
                        helper -> {
                            if (handle.get() != null) {
                                handle.get().cancel();
                            }
                        },
                        2);
                MultiheadChatModel onExecutor = MultiheadChatModel.builder()
                        .path(folder.resolve("tiny.gguf"))
                        .compute(cpu)
                        .build()) {
            MultiheadStreamingChatModel.of(onExecutor)
                    .chat(ChatRequest.builder().messages(CHAT).build(), cancelling(heard, handle::set));
        }
        assertTrue(handle.get().isCancelled());
        assertEquals(1, heard.size());
    }

    private static StreamingChatResponseHandler cancelling(List<String> heard, Consumer<StreamingHandle> first) {
        return new StreamingChatResponseHandler() {
            @Override
            public void onPartialResponse(PartialResponse part, PartialResponseContext context) {
                heard.add(part.text());
                first.accept(context.streamingHandle());
            }

            @Override
            public void onCompleteResponse(ChatResponse response) {
                throw new AssertionError("a response");
            }

            @Override
            public void onError(Throwable error) {
                throw new AssertionError(error);
            }
        };
    }

    @Test
    void aFailureReachesTheHandler() {
        Throwable[] failure = new Throwable[1];
        ChatRequest request =
                ChatRequest.builder().messages(CHAT).modelName("another").build();
        MultiheadStreamingChatModel.of(model).chat(request, failing(error -> failure[0] = error));
        assertInstanceOf(UnsupportedFeatureException.class, failure[0]);
    }

    private static StreamingChatResponseHandler failing(Consumer<Throwable> failed) {
        return new StreamingChatResponseHandler() {
            @Override
            public void onCompleteResponse(ChatResponse response) {
                throw new AssertionError("a response");
            }

            @Override
            public void onError(Throwable error) {
                failed.accept(error);
            }
        };
    }

    private static StreamingChatResponseHandler handler(StringBuilder streamed, ChatResponse[] complete) {
        return new StreamingChatResponseHandler() {
            @Override
            public void onPartialResponse(String part) {
                streamed.append(part);
            }

            @Override
            public void onCompleteResponse(ChatResponse response) {
                complete[0] = response;
            }

            @Override
            public void onError(Throwable error) {
                throw new AssertionError(error);
            }
        };
    }

    @Test
    void buildersNameWhatIsWrong() throws IOException {
        assertEquals(
                "path: absent; expected a model's file",
                assertThrows(IllegalArgumentException.class, () -> MultiheadChatModel.builder()
                                .build())
                        .getMessage());
        assertThrows(
                UncheckedIOException.class,
                () -> MultiheadChatModel.builder().path(folder.resolve("none")).build());
        Path plain = folder.resolve("plain.gguf");
        FamilyModel.write(plain);
        assertThrows(
                IllegalArgumentException.class,
                () -> MultiheadChatModel.builder().path(plain).build());
    }
}
