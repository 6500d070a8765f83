package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import dev.langchain4j.model.output.FinishReason;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.SessionOptions;
import io.multihead.tensor.DType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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
     * {@code <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n}, a byte a token; each text begins with the mark of a space, which has
     * three bytes.
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
                .sessions(SessionOptions.DEFAULT.withSessions(2).withCacheType(DType.F32))
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
    void whatIsNotSupportedIsRefusedByName() {
        assertRefused("frequencyPenalty", request -> request.frequencyPenalty(0.5));
        assertRefused("responseFormat", request -> request.responseFormat(ResponseFormat.JSON));
        assertRefused("modelName", request -> request.modelName("another"));
        assertRefused(
                "toolSpecifications",
                request -> request.toolSpecifications(
                        ToolSpecification.builder().name("clock").build()));
    }

    private void assertRefused(String parameter, UnaryOperator<ChatRequest.Builder> change) {
        String message = assertThrows(UnsupportedFeatureException.class, () -> chat(change))
                .getMessage();
        assertTrue(message.startsWith(parameter + ": "), message);
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
        // the model answers as before
        StringBuilder streamed = new StringBuilder();
        ChatResponse[] complete = new ChatResponse[1];
        streaming.chat(ChatRequest.builder().messages(CHAT).build(), handler(streamed, complete));
        assertTrue(streamed.toString().startsWith(heard.get(0)), streamed.toString());
        assertEquals(complete[0].aiMessage().text(), streamed.toString());
    }

    /** The executor cancels while the next token is computed, as another thread may. */
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
                ChatRequest.builder().messages(CHAT).frequencyPenalty(1.0).build();
        MultiheadStreamingChatModel.of(model).chat(request, new StreamingChatResponseHandler() {
            @Override
            public void onCompleteResponse(ChatResponse response) {
                throw new AssertionError("a response");
            }

            @Override
            public void onError(Throwable error) {
                failure[0] = error;
            }
        });
        assertInstanceOf(UnsupportedFeatureException.class, failure[0]);
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
