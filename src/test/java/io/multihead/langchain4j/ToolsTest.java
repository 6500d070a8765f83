package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.networknt.schema.InputFormat;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.PartialThinking;
import dev.langchain4j.model.chat.response.PartialToolCall;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.output.FinishReason;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.ToolCall;
import io.multihead.decoder.ToolDefinition;
import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tools and thoughts. The model has random weights. A constraint sets its answers, or a grammar requires a call. */
class ToolsTest {
    private static final ToolSpecification PAINT = ToolSpecification.builder()
            .name("paint")
            .description("Paints a wall.")
            .parameters(JsonObjectSchema.builder()
                    .addEnumProperty("colour", List.of("red", "blue"), "one of two")
                    .addIntegerProperty("coats")
                    .required("colour")
                    .build())
            .build();
    private static final ToolSpecification CLOCK =
            ToolSpecification.builder().name("clock").build();
    private static final ToolDefinition PAINT_DEFINITION = new ToolDefinition(
            "paint",
            "Paints a wall.",
            "{\"type\": \"object\", \"properties\": {\"colour\":"
                    + " {\"enum\": [\"red\", \"blue\"], \"description\": \"one of two\"}, \"coats\": {\"type\": \"integer\"}},"
                    + " \"required\": [\"colour\"]}");
    private static final UserMessage QUESTION = UserMessage.from("Hi");
    private static final String RED = "{\"colour\": \"red\"}";
    private static final String BLUE = "{\"coats\": 2, \"colour\": \"blue\"}";
    /** The arguments in the schema's order of properties, which a grammar requires. */
    private static final String ORDERED = "{\"colour\": \"blue\", \"coats\": 2}";

    private static final String CALLS = "<think>\nPaint.\n</think>\n\nSee:\n" + call(RED) + "\n" + call(BLUE);

    @TempDir
    private Path folder;

    private MultiheadChatModel model;

    private static String call(String arguments) {
        return "<tool_call>\n{\"name\": \"paint\", \"arguments\": " + arguments + "}\n</tool_call>";
    }

    @BeforeEach
    void load() throws IOException {
        FamilyModel.writeChat(folder.resolve("tiny.gguf"), "{{ messages }}", 2048);
        model = builder(GenerationOptions.DEFAULT).build();
    }

    @AfterEach
    void close() {
        model.close();
    }

    private MultiheadChatModel.Builder builder(GenerationOptions options) {
        return MultiheadChatModel.builder()
                .path(folder.resolve("tiny.gguf"))
                .chatTemplate(ChatTemplate.QWEN_3)
                .sessions(SessionOptions.DEFAULT.withSessions(4))
                .generation(options);
    }

    /** Returns options with a constraint that sets each answer to the next of the given texts. */
    private static GenerationOptions writing(String... answers) {
        AtomicInteger next = new AtomicInteger();
        TokenConstraint constraint = vocabulary -> {
            String answer = answers[next.getAndIncrement() % answers.length];
            String literal = answer.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
            return Grammar.ofGbnf("root ::= \"" + literal + "\"").begin(vocabulary);
        };
        return GenerationOptions.DEFAULT.withMaxTokens(500).withConstraint(constraint);
    }

    private static ChatResponse chat(MultiheadChatModel model, UnaryOperator<ChatRequest.Builder> change) {
        return model.chat(change.apply(ChatRequest.builder().messages(QUESTION).toolSpecifications(PAINT, CLOCK))
                .build());
    }

    @Test
    void callsComeOutAndResultsGoIn() {
        try (MultiheadChatModel written =
                builder(writing(CALLS, "Done.")).returnThinking(true).build()) {
            ChatResponse response = chat(written, request -> request);
            AiMessage answer = response.aiMessage();
            assertEquals(FinishReason.TOOL_EXECUTION, response.finishReason());
            assertEquals("See:", answer.text());
            assertEquals("Paint.", answer.thinking());
            List<ToolExecutionRequest> requests = answer.toolExecutionRequests();
            assertEquals(
                    List.of(RED, BLUE),
                    requests.stream().map(ToolExecutionRequest::arguments).toList());
            assertEquals("paint", requests.getFirst().name());
            assertFalse(requests.get(0).id().equals(requests.get(1).id()));
            List<ChatMessage> chat = List.of(
                    QUESTION,
                    answer,
                    ToolExecutionResultMessage.from(requests.get(0), "wet"),
                    ToolExecutionResultMessage.from(requests.get(1), "dry"));
            ChatResponse done = chat(written, request -> request.messages(chat));
            assertEquals("Done.", done.aiMessage().text());
            assertEquals(List.of(), done.aiMessage().toolExecutionRequests());
            assertEquals(FinishReason.STOP, done.finishReason());
            assertNull(done.aiMessage().thinking());
            assertEquals(tokens(written, requests, ""), done.tokenUsage().inputTokenCount());
        }
        try (MultiheadChatModel written = builder(writing(CALLS)).build()) {
            AiMessage answer = chat(written, request -> request).aiMessage();
            assertEquals("See:", answer.text());
            assertNull(answer.thinking());
        }
    }

    /** Returns the number of tokens of the chat above in a session of the library. */
    private static int tokens(MultiheadChatModel model, List<ToolExecutionRequest> requests, String thought) {
        List<ToolCall> calls = requests.stream()
                .map(each -> new ToolCall(each.id(), each.name(), each.arguments()))
                .toList();
        ToolDefinition clock = new ToolDefinition("clock", "", "{\"type\":\"object\",\"properties\":{}}");
        ChatPrompt prompt = ChatPrompt.of(List.of(
                        io.multihead.decoder.ChatMessage.user("Hi"),
                        io.multihead.decoder.ChatMessage.assistant("See:", calls)
                                .withReasoning(thought),
                        io.multihead.decoder.ChatMessage.tool(calls.get(0), "wet"),
                        io.multihead.decoder.ChatMessage.tool(calls.get(1), "dry")))
                .withTools(List.of(PAINT_DEFINITION, clock));
        try (Sessions sessions = model.languageModel().sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            return session.appendChat(prompt).length();
        }
    }

    @Test
    void thoughtsAreSentWhereTheyAreAskedFor() {
        try (MultiheadChatModel written = builder(writing(CALLS, "Done."))
                .returnThinking(true)
                .sendThinking(true)
                .build()) {
            AiMessage answer = chat(written, request -> request).aiMessage();
            List<ToolExecutionRequest> requests = answer.toolExecutionRequests();
            ChatResponse done = chat(
                    written,
                    request -> request.messages(
                            QUESTION,
                            answer,
                            ToolExecutionResultMessage.from(requests.get(0), "wet"),
                            ToolExecutionResultMessage.from(requests.get(1), "dry")));
            assertEquals(tokens(written, requests, "Paint."), done.tokenUsage().inputTokenCount());
            assertTrue(tokens(written, requests, "Paint.") > tokens(written, requests, ""));
        }
    }

    @Test
    void aVariableOfTheTemplateTurnsThoughtsOff() {
        int thinking = chat(model, request -> request).tokenUsage().inputTokenCount();
        try (MultiheadChatModel quick = builder(GenerationOptions.DEFAULT)
                .templateVariable("enable_thinking", false)
                .build()) {
            int off = chat(quick, request -> request).tokenUsage().inputTokenCount();
            assertEquals("<think>\n\n</think>\n\n".length(), off - thinking);
        }
        assertThrows(IllegalArgumentException.class, () -> builder(GenerationOptions.DEFAULT)
                .templateVariable("tools", 1));
    }

    /** Records events in their order. */
    private static final class Events implements StreamingChatResponseHandler {
        final List<String> kinds = new ArrayList<>();
        final StringBuilder text = new StringBuilder();
        final StringBuilder thinking = new StringBuilder();
        final List<StringBuilder> parts = new ArrayList<>();
        final List<ToolExecutionRequest> calls = new ArrayList<>();
        ChatResponse response;

        private void told(String kind) {
            if (kinds.isEmpty() || !kinds.getLast().equals(kind)) {
                kinds.add(kind);
            }
        }

        @Override
        public void onPartialResponse(String part) {
            told("text");
            text.append(part);
        }

        @Override
        public void onPartialThinking(PartialThinking part) {
            told("thinking");
            thinking.append(part.text());
        }

        @Override
        public void onPartialToolCall(PartialToolCall part) {
            told("part " + part.index() + " " + part.name() + " " + part.id());
            while (parts.size() <= part.index()) {
                parts.add(new StringBuilder());
            }
            parts.get(part.index()).append(part.partialArguments());
        }

        @Override
        public void onCompleteToolCall(CompleteToolCall call) {
            told("call " + call.index());
            calls.add(call.toolExecutionRequest());
        }

        @Override
        public void onCompleteResponse(ChatResponse complete) {
            told("complete");
            response = complete;
        }

        @Override
        public void onError(Throwable error) {
            throw new AssertionError(error);
        }
    }

    @Test
    void partsOfCallsAreStreamed() {
        try (MultiheadChatModel written =
                builder(writing(CALLS)).returnThinking(true).build()) {
            Events events = new Events();
            MultiheadStreamingChatModel.of(written)
                    .chat(
                            ChatRequest.builder()
                                    .messages(QUESTION)
                                    .toolSpecifications(PAINT)
                                    .build(),
                            events);
            AiMessage answer = events.response.aiMessage();
            List<String> ids = answer.toolExecutionRequests().stream()
                    .map(ToolExecutionRequest::id)
                    .toList();
            assertEquals(
                    List.of(
                            "thinking",
                            "text",
                            "part 0 paint " + ids.get(0),
                            "call 0",
                            "part 1 paint " + ids.get(1),
                            "call 1",
                            "complete"),
                    events.kinds);
            assertEquals(answer.text(), events.text.toString());
            assertEquals(answer.thinking(), events.thinking.toString());
            assertEquals(answer.toolExecutionRequests(), events.calls);
            assertEquals(
                    List.of(RED, BLUE),
                    events.parts.stream().map(StringBuilder::toString).toList());
            assertEquals(FinishReason.TOOL_EXECUTION, events.response.finishReason());
        }
    }

    /** A call that the limit of tokens truncates is text, and the finish reason is the length. */
    @Test
    void aCallThatIsCutIsText() {
        try (MultiheadChatModel written =
                builder(writing(call(RED)).withMaxTokens(30)).build()) {
            Events events = new Events();
            MultiheadStreamingChatModel.of(written)
                    .chat(
                            ChatRequest.builder()
                                    .messages(QUESTION)
                                    .toolSpecifications(PAINT)
                                    .build(),
                            events);
            assertEquals(call(RED).substring(0, 30), events.text.toString());
            assertEquals(events.text.toString(), events.response.aiMessage().text());
            assertFalse(events.response.aiMessage().hasToolExecutionRequests());
            assertEquals(FinishReason.LENGTH, events.response.finishReason());
        }
    }

    /** A constraint makes the model write a call. The grammar of strict tools allows valid calls only. */
    @Test
    void strictToolsAllowValidCallsAlone() {
        try (MultiheadChatModel strict =
                builder(writing(CALLS.replace(BLUE, ORDERED))).strictTools(true).build()) {
            AiMessage answer = chat(strict, request -> request).aiMessage();
            assertEquals(
                    List.of(RED, ORDERED),
                    answer.toolExecutionRequests().stream()
                            .map(ToolExecutionRequest::arguments)
                            .toList());
            assertEquals("See:", answer.text());
        }
        try (MultiheadChatModel strict = builder(writing(call("{\"colour\": \"green\"}")))
                .strictTools(true)
                .build()) {
            String message = assertThrows(IllegalStateException.class, () -> chat(strict, request -> request))
                    .getMessage();
            assertTrue(message.startsWith("constraint: no token of the vocabulary is allowed"), message);
        }
    }

    /** The model has random weights. Requests are answered one by one and concurrently. */
    @Test
    void aRequiredCallIsValidByItsSchema() throws Exception {
        var validator = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(PAINT_DEFINITION.parameters());
        List<ChatRequest> requests = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            requests.add(ChatRequest.builder()
                    .messages(UserMessage.from("Paint " + i))
                    .toolSpecifications(PAINT)
                    .toolChoice(ToolChoice.REQUIRED)
                    .build());
        }
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(200).withSampling(Sampling.of(1.5, 7));
        try (MultiheadChatModel random = builder(options).build();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<AiMessage> alone = new ArrayList<>();
            int complete = 0;
            for (ChatRequest request : requests) {
                ChatResponse response = random.chat(request);
                alone.add(response.aiMessage());
                boolean ended = response.finishReason() == FinishReason.TOOL_EXECUTION;
                assertTrue(ended || response.finishReason() == FinishReason.LENGTH, response.toString());
                complete += ended ? 1 : 0;
                for (ToolExecutionRequest call : response.aiMessage().toolExecutionRequests()) {
                    assertEquals("paint", call.name());
                    assertEquals(List.of(), validator.validate(call.arguments(), InputFormat.JSON), call.arguments());
                }
            }
            assertTrue(complete > 0, "every answer was cut off");
            List<Future<ChatResponse>> together = requests.stream()
                    .map(request -> threads.submit(() -> random.chat(request)))
                    .toList();
            for (int i = 0; i < requests.size(); i++) {
                assertEquals(alone.get(i), together.get(i).get().aiMessage());
            }
        }
        assertThrows(
                InvalidRequestException.class,
                () -> model.chat(ChatRequest.builder()
                        .messages(QUESTION)
                        .toolChoice(ToolChoice.REQUIRED)
                        .build()));
    }

    /** The model answers in JSON, or with calls. */
    @Test
    void aFormatOfResponsesAllowsCalls() {
        JsonObjectSchema schema = JsonObjectSchema.builder()
                .addBooleanProperty("yes")
                .required("yes")
                .build();
        ResponseFormat format = ResponseFormat.builder()
                .type(ResponseFormatType.JSON)
                .jsonSchema(
                        JsonSchema.builder().name("answer").rootElement(schema).build())
                .build();
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(200).withSampling(Sampling.of(3, 0));
        int calls = 0;
        int answers = 0;
        try (MultiheadChatModel random = builder(options).build()) {
            for (int i = 0; i < 30; i++) {
                ChatResponse response = chat(random, request -> request.responseFormat(format));
                boolean isCall = response.aiMessage().hasToolExecutionRequests();
                if (response.finishReason() != FinishReason.LENGTH) {
                    assertTrue(
                            isCall || response.aiMessage().text().matches("(?s)\\{\\s*\"yes\":\\s*(true|false)\\s*}"),
                            response.toString());
                    calls += isCall ? 1 : 0;
                    answers += isCall ? 0 : 1;
                }
            }
        }
        assertTrue(calls > 0 && answers > 0, calls + " calls, " + answers + " answers");
    }

    @Test
    void toolsThatAreNotWrittenOrNotToBeCalled() {
        int without = model.chat(List.of(QUESTION)).tokenUsage().inputTokenCount();
        assertEquals(
                without,
                chat(model, request -> request.toolChoice(ToolChoice.NONE))
                        .tokenUsage()
                        .inputTokenCount());
        assertTrue(chat(model, request -> request.toolChoice(ToolChoice.AUTO))
                        .tokenUsage()
                        .inputTokenCount()
                > without);
        try (MultiheadChatModel plain = builder(GenerationOptions.DEFAULT)
                .chatTemplate(ChatTemplate.CHATML)
                .build()) {
            String message = assertThrows(UnsupportedFeatureException.class, () -> chat(plain, request -> request))
                    .getMessage();
            assertTrue(message.startsWith("toolSpecifications: 2 of them; expected none"), message);
        }
    }
}
