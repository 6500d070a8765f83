package io.multihead.it.langchain4j;

import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.SessionOptions;
import io.multihead.langchain4j.MultiheadChatModel;
import io.multihead.langchain4j.MultiheadStreamingChatModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Programs that use only langchain4j's interfaces: long chats with a sliding memory, calls that fail, many simultaneous
 * requests, and streams.
 */
public final class Strangers {
    private static final int CONTEXT = 2048;
    private static final int TURNS = 40;
    private static final int FAILING = 7;
    private static final int REQUESTS = 50;
    private static final long PATIENCE_SECONDS = 300;

    /** Chat templates. Many templates refuse chats with other roles than alternating ones. */
    private static final List<String> TEMPLATES = List.of(
            "{% for m in messages %}{{'<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n'}}{% endfor %}"
                    + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
            "{% set s = 1 if messages[0].role == 'system' else 0 %}{% for m in messages %}"
                    + "{% if loop.index0 >= s and (m.role == 'user') != ((loop.index0 - s) % 2 == 0) %}"
                    + "{{ raise_exception('roles must alternate') }}{% endif %}"
                    + "{{'<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n'}}{% endfor %}"
                    + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}");

    /** A service with a system message, which a memory keeps while other messages slide. */
    interface Assistant {
        @dev.langchain4j.service.SystemMessage("Be brief.")
        Result<String> answer(String question);
    }

    private Strangers() {}

    public static void main(String[] args) throws Exception {
        for (String template : TEMPLATES) {
            Path file = Files.createTempFile("strangers", ".gguf");
            FamilyModel.writeChat(file, template, CONTEXT);
            try (MultiheadChatModel model = MultiheadChatModel.builder()
                    .path(file)
                    .threads(2)
                    .sessions(SessionOptions.DEFAULT)
                    .generation(GenerationOptions.DEFAULT.withMaxTokens(6))
                    .build()) {
                for (int window = 3; window <= 10; window++) {
                    longChat(model, window);
                }
                manyRequests(model);
                firstPart(model);
            } finally {
                Files.delete(file);
            }
        }
        System.out.println(
                "langchain4j: " + TURNS + " turns in windows of 3 to 10, " + REQUESTS + " requests at once, streams");
    }

    /** Chats for many turns. One call fails, and its question remains in the memory. */
    private static void longChat(MultiheadChatModel model, int window) {
        int[] calls = {0};
        ChatModel failing = new ChatModel() {
            @Override
            public ChatResponse doChat(ChatRequest request) {
                if (++calls[0] == FAILING) {
                    throw new IllegalStateException("one call fails");
                }
                return model.doChat(request);
            }
        };
        Assistant assistant = AiServices.builder(Assistant.class)
                .chatModel(failing)
                .chatMemory(MessageWindowChatMemory.withMaxMessages(window))
                .build();
        int answered = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            try {
                Result<String> result = assistant.answer("Question " + turn + "?");
                require(result.tokenUsage().outputTokenCount() > 0, "no answer");
                answered++;
            } catch (IllegalStateException failed) {
                require(failed.getMessage().equals("one call fails"), "turn " + turn + ": " + failed.getMessage());
            }
        }
        require(answered == TURNS - 1, answered + " of " + TURNS + " turns with a window of " + window);
    }

    /**
     * Sends simultaneous requests of different lengths, which are together longer than the cache. Each request has the
     * same answer as alone.
     */
    private static void manyRequests(MultiheadChatModel model) throws Exception {
        List<String> questions = new ArrayList<>();
        List<String> alone = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            questions.add("Word ".repeat(1 + i * 5) + i);
            alone.add(model.chat(questions.get(i)));
        }
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<String>> answers = questions.stream()
                    .map(question -> threads.submit(() -> model.chat(question)))
                    .toList();
            for (int i = 0; i < REQUESTS; i++) {
                require(
                        answers.get(i).get(PATIENCE_SECONDS, TimeUnit.SECONDS).equals(alone.get(i)),
                        "another answer of request " + i + " beside others");
            }
        }
    }

    /** Requires that parts arrive before the answer is complete, and prints the time of the first part. */
    private static void firstPart(MultiheadChatModel model) throws Exception {
        CountDownLatch seen = new CountDownLatch(1);
        CompletableFuture<ChatResponse> complete = new CompletableFuture<>();
        StreamingChatResponseHandler handler = new StreamingChatResponseHandler() {
            private int parts;

            @Override
            public void onPartialResponse(String part) {
                if (++parts == 1) {
                    seen.countDown();
                }
            }

            @Override
            public void onCompleteResponse(ChatResponse response) {
                require(parts > 0, "no part");
                complete.complete(response);
            }

            @Override
            public void onError(Throwable error) {
                complete.completeExceptionally(error);
            }
        };
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            long start = System.nanoTime();
            MultiheadStreamingChatModel.of(model, threads).chat("Hi", handler);
            require(seen.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "no first part");
            System.out.printf("langchain4j: first part after %.3f s%n", (System.nanoTime() - start) / 1e9);
            complete.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new AssertionError(message);
        }
    }
}
