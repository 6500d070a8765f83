package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.exception.TimeoutException;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.listener.ChatModelErrorContext;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.listener.ChatModelRequestContext;
import dev.langchain4j.model.chat.listener.ChatModelResponseContext;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.SessionOptions;
import io.multihead.support.Patience;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * langchain4j's contract for handlers, as in its {@code AbstractStreamingChatModelIT}, and for exceptions, listeners,
 * seeds and memories.
 */
class ChatContractTest {
    private static final List<ChatMessage> CHAT = List.of(UserMessage.from("Hi"));

    @TempDir
    private Path folder;

    private final List<String> told = new ArrayList<>();
    private MultiheadChatModel model;

    @BeforeEach
    void load() throws IOException {
        FamilyModel.write(folder.resolve("tiny.gguf"));
        model = builder().build();
    }

    private MultiheadChatModel.Builder builder() {
        return MultiheadChatModel.builder()
                .path(folder.resolve("tiny.gguf"))
                .chatTemplate(ChatTemplate.CHATML)
                .listeners(List.of(new Listener()))
                .generation(GenerationOptions.DEFAULT.withMaxTokens(8));
    }

    @AfterEach
    void close() {
        model.close();
    }

    private final class Listener implements ChatModelListener {
        @Override
        public void onRequest(ChatModelRequestContext context) {
            told.add("request " + context.chatRequest().messages().size());
        }

        @Override
        public void onResponse(ChatModelResponseContext context) {
            told.add("response " + context.chatResponse().modelName());
        }

        @Override
        public void onError(ChatModelErrorContext context) {
            told.add("error " + context.error().getMessage());
        }
    }

    /** Records its events, and throws the given exception. */
    private static class Handler implements StreamingChatResponseHandler {
        final List<Throwable> errors = new ArrayList<>();
        final StringBuilder text = new StringBuilder();
        final CompletableFuture<ChatResponse> response = new CompletableFuture<>();
        int parts;

        @Override
        public void onPartialResponse(String part) {
            parts++;
            text.append(part);
        }

        @Override
        public void onCompleteResponse(ChatResponse complete) {
            response.complete(complete);
        }

        @Override
        public void onError(Throwable error) {
            errors.add(error);
        }
    }

    private ChatResponse chat(UnaryOperator<ChatRequest.Builder> change) {
        return model.chat(change.apply(ChatRequest.builder().messages(CHAT)).build());
    }

    private void stream(StreamingChatResponseHandler handler) {
        MultiheadStreamingChatModel.of(model)
                .chat(ChatRequest.builder().messages(CHAT).build(), handler);
    }

    @Test
    void whatAHandlerThrowsGoesToItsOnErrorAndTheAnswerGoesOn() {
        RuntimeException thrown = new IllegalArgumentException("of the user's");
        Handler handler = new Handler() {
            @Override
            public void onPartialResponse(String part) {
                super.onPartialResponse(part);
                throw thrown;
            }
        };
        stream(handler);
        ChatResponse response = handler.response.getNow(null);
        assertEquals(response.aiMessage().text(), handler.text.toString());
        assertTrue(handler.parts > 1);
        assertEquals(handler.parts, handler.errors.size());
        handler.errors.forEach(error -> assertSame(thrown, error));
        assertEquals("request 1", told.getFirst());
        assertEquals("response tiny.gguf", told.getLast());
        assertEquals(
                handler.parts,
                told.stream().filter("error of the user's"::equals).count());
    }

    @Test
    void whatOnCompleteResponseThrowsGoesToOnErrorOnce() {
        Error thrown = new AssertionError("of the user's");
        Handler handler = new Handler() {
            @Override
            public void onCompleteResponse(ChatResponse complete) {
                super.onCompleteResponse(complete);
                throw thrown;
            }

            @Override
            public void onError(Throwable error) {
                super.onError(error);
                throw new IllegalStateException("of onError");
            }
        };
        stream(handler);
        assertTrue(handler.response.isDone());
        assertEquals(List.of(thrown), handler.errors);
        assertEquals(List.of("request 1", "response tiny.gguf", "error of the user's"), told);
    }

    /** After a cancellation, the handler receives the exception that it threw, and no other event. */
    @Test
    void aHandlerThatCancelsAndThrowsIsToldOfThat() {
        RuntimeException thrown = new IllegalStateException("of the user's");
        Handler handler = new Handler() {
            @Override
            public void onPartialResponse(PartialResponse part, PartialResponseContext context) {
                context.streamingHandle().cancel();
                throw thrown;
            }
        };
        stream(handler);
        assertEquals(List.of(thrown), handler.errors);
        assertTrue(!handler.response.isDone());
    }

    @Test
    void anExecutorGeneratesAnswersElsewhere() throws Exception {
        Thread[] thread = new Thread[1];
        Handler handler = new Handler() {
            @Override
            public void onPartialResponse(String part) {
                super.onPartialResponse(part);
                thread[0] = Thread.currentThread();
            }
        };
        ChatRequest request = ChatRequest.builder().messages(CHAT).build();
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        MultiheadStreamingChatModel streaming = MultiheadStreamingChatModel.of(model, executor);
        streaming.chat(request, handler);
        ChatResponse response = handler.response.get(Patience.HANG_SECONDS, TimeUnit.SECONDS);
        assertEquals(response.aiMessage().text(), handler.text.toString());
        assertTrue(thread[0].isVirtual());
        executor.close();
        Handler rejected = new Handler();
        streaming.chat(request, rejected);
        assertInstanceOf(RateLimitException.class, rejected.errors.getFirst());
    }

    @Test
    void listenersAreTold() {
        chat(request -> request);
        assertEquals(List.of("request 1", "response tiny.gguf"), told);
        told.clear();
        assertThrows(UnsupportedFeatureException.class, () -> chat(request -> request.modelName("another")));
        assertEquals(
                List.of("request 1", "error modelName: another; expected tiny.gguf, as others are not supported"),
                told);
    }

    @Test
    void wrongRequestsAreLangchain4jsExceptionsByTheNamesOfParameters() {
        assertInvalid("maxOutputTokens: 0; expected at least 1", request -> request.maxOutputTokens(0));
        assertInvalid("stopSequences[1]: empty; expected a text", request -> request.stopSequences(List.of("a", "")));
        assertInvalid("presencePenalty: NaN; expected a finite number", request -> request.presencePenalty(Double.NaN));
        assertInvalid(
                "frequencyPenalty: NaN; expected a finite number", request -> request.frequencyPenalty(Double.NaN));
        assertInvalid("temperature: -1.0; ", request -> request.temperature(-1.0));
        assertInvalid("topP: 2.0; ", request -> request.topP(2.0));
        assertInvalid("topK: -1; ", request -> request.topK(-1));
        assertInvalid("messages: ", request -> request.messages(UserMessage.from("x".repeat(100_000))));
        Handler handler = new Handler();
        ChatRequest wrong =
                ChatRequest.builder().messages(CHAT).maxOutputTokens(0).build();
        MultiheadStreamingChatModel.of(model).chat(wrong, handler);
        assertInstanceOf(InvalidRequestException.class, handler.errors.getFirst());
        assertEquals(1, handler.errors.size());
    }

    private void assertInvalid(String begin, UnaryOperator<ChatRequest.Builder> change) {
        String message =
                assertThrows(InvalidRequestException.class, () -> chat(change)).getMessage();
        assertTrue(message.startsWith(begin), message);
    }

    private static Long seed(ChatResponse response) {
        return assertInstanceOf(MultiheadChatResponseMetadata.class, response.metadata())
                .seed();
    }

    @Test
    void aTemperatureWithoutASeedDrawsOneThatRepeatsTheAnswer() {
        assertNull(seed(chat(request -> request)));
        ChatResponse first = chat(request -> request.temperature(5.0));
        ChatResponse second = chat(request -> request.temperature(5.0));
        assertNotEquals(seed(first), seed(second));
        assertNotEquals(first.aiMessage().text(), second.aiMessage().text());
        Sampling again = Sampling.of(5, seed(first));
        try (MultiheadChatModel repeated = builder()
                .generation(GenerationOptions.DEFAULT.withMaxTokens(8).withSampling(again))
                .build()) {
            ChatResponse third =
                    repeated.chat(ChatRequest.builder().messages(CHAT).build());
            assertEquals(first.aiMessage().text(), third.aiMessage().text());
            assertEquals(first.metadata(), third.metadata());
            assertEquals(first.metadata().hashCode(), third.metadata().hashCode());
            assertEquals(first.metadata(), first.metadata().toBuilder().build());
            assertNotEquals(first.metadata(), second.metadata());
        }
    }

    /** Such histories result from a memory of the newest messages, and from failed calls. */
    @Test
    void messagesInAnyOrderHaveAnAnswer() {
        UserMessage question = UserMessage.from("Hi");
        AiMessage answer = AiMessage.from("Hello.");
        SystemMessage system = SystemMessage.from("Be brief.");
        for (List<ChatMessage> messages : List.<List<ChatMessage>>of(
                List.of(answer, question),
                List.of(system, answer, question),
                List.of(question, question),
                List.of(question, answer, system, question),
                List.of(question, AiMessage.builder().build(), question))) {
            assertTrue(model.chat(messages).tokenUsage().outputTokenCount() > 0);
        }
    }

    /**
     * With a penalty that is larger than any logit, no token is repeated within the answer. Tokens of the question may
     * occur.
     */
    @Test
    void penaltiesCountTheAnswerAlone() {
        try (MultiheadChatModel longer = builder()
                .generation(GenerationOptions.DEFAULT.withMaxTokens(40))
                .build()) {
            List<ChatMessage> question = List.of(UserMessage.from("Hi"));
            ChatResponse none = longer.chat(question);
            ChatRequest.Builder request = ChatRequest.builder().messages(question);
            String presence = longer.chat(request.presencePenalty(1e6).build())
                    .aiMessage()
                    .text();
            assertNotEquals(none.aiMessage().text(), presence);
            String whole = presence.replace("\ufffd", ""); // replacement characters stand for bytes that are not text
            assertEquals(
                    whole.codePoints().count(), whole.codePoints().distinct().count(), presence);
            ChatRequest.Builder frequent = ChatRequest.builder().messages(question);
            assertEquals(
                    presence,
                    longer.chat(frequent.frequencyPenalty(1e6).build())
                            .aiMessage()
                            .text());
            // no penalty applies to the first token of an answer
            ChatRequest.Builder first = ChatRequest.builder().messages(question).maxOutputTokens(1);
            assertEquals(
                    longer.chat(first.build()).aiMessage(),
                    longer.chat(first.presencePenalty(1e6).build()).aiMessage());
        }
    }

    @Test
    void anAnswerThatTakesTooLongIsATimeout() {
        GenerationOptions short1 = GenerationOptions.DEFAULT.withTimeout(Duration.ofNanos(1));
        try (MultiheadChatModel hasty = builder().generation(short1).build()) {
            TimeoutException timeout = assertThrows(TimeoutException.class, () -> hasty.chat(CHAT));
            assertEquals(
                    "timeout: PT0.000000001S are over after 0 tokens; expected the whole answer", timeout.getMessage());
            Handler handler = new Handler();
            MultiheadStreamingChatModel.of(hasty)
                    .chat(ChatRequest.builder().messages(CHAT).build(), handler);
            assertInstanceOf(TimeoutException.class, handler.errors.getFirst());
        }
    }

    @Test
    void aRequestWithoutRoomIsOfARateLimit() {
        SessionOptions tight = SessionOptions.DEFAULT.withContextTokens(120).withMaxWait(Duration.ZERO);
        try (MultiheadChatModel small = builder()
                .sessions(tight)
                .generation(GenerationOptions.DEFAULT.withMaxTokens(8).withSampling(Sampling.of(5, 3)))
                .build()) {
            List<Throwable> errors = new ArrayList<>();
            assertTrue(ask(small, 0, errors));
            assertTrue(!errors.isEmpty());
            errors.forEach(full -> assertInstanceOf(RateLimitException.class, full));
        }
    }

    /** Requests an answer, and further answers during the first one. Returns whether the first answer was complete. */
    private static boolean ask(MultiheadChatModel model, int depth, List<Throwable> thrown) {
        Handler handler = new Handler() {
            @Override
            public void onPartialResponse(String part) {
                if (parts == 0 && depth < 4) {
                    ask(model, depth + 1, thrown);
                }
                super.onPartialResponse(part);
            }
        };
        MultiheadStreamingChatModel.of(model).chat(List.of(UserMessage.from("x".repeat(70))), handler);
        thrown.addAll(handler.errors);
        return handler.response.isDone();
    }
}
