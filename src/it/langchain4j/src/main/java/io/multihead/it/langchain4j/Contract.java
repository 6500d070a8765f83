package io.multihead.it.langchain4j;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.listener.ChatModelRequestContext;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.SessionOptions;
import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import io.multihead.langchain4j.MultiheadChatModel;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * Runs langchain4j's abstract tests of chat models. Their questions require a trained model. Here, the weights are
 * random, and a constraint makes the model write the expected answer. Templates, tools, grammars, streams, counts and
 * listeners are the library's. The names of tests that do not run are printed with the reason.
 */
public final class Contract {
    /** The minimum number of tests that must pass. */
    private static final int LEAST = 47;

    private Contract() {}

    public static void main(String[] args) {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(
                        selectClass(ContractChat.class),
                        selectClass(ContractStream.class),
                        selectClass(ContractListener.class),
                        selectClass(ContractStreamListener.class))
                .build();
        SummaryGeneratingListener summary = new SummaryGeneratingListener();
        List<String> notRun = new ArrayList<>();
        TestExecutionListener names = new TestExecutionListener() {
            @Override
            public void executionSkipped(TestIdentifier test, String reason) {
                notRun.add(test.getUniqueId().replaceAll("^.*class:", "") + ": " + reason);
            }

            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
                    executionSkipped(test, String.valueOf(result.getThrowable().orElse(null)));
                }
            }
        };
        LauncherFactory.create().execute(request, summary, names);
        notRun.forEach(each -> System.out.println("not run: " + each));
        summary.getSummary().printFailuresTo(new PrintWriter(System.out, true), 20);
        long passed = summary.getSummary().getTestsSucceededCount();
        System.out.println("langchain4j: " + passed + " of its own tests pass");
        if (summary.getSummary().getTotalFailureCount() > 0 || passed < LEAST) {
            throw new AssertionError(summary.getSummary().getTotalFailureCount() + " failures, " + passed
                    + " passed; expected none, and " + LEAST);
        }
    }

    /** Listens to each request, and constrains the model to the answer that the test expects. */
    static final class Oracle implements ChatModelListener {
        private volatile String answer = "";

        @Override
        public void onRequest(ChatModelRequestContext context) {
            answer = answer(context.chatRequest());
        }

        TokenConstraint constraint() {
            return vocabulary ->
                    Grammar.ofGbnf("root ::= \"" + escaped(answer) + "\"").begin(vocabulary);
        }

        private static String escaped(String text) {
            return text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
        }

        private static String answer(ChatRequest request) {
            List<ChatMessage> messages = request.messages();
            ResponseFormat format = request.parameters().responseFormat();
            boolean json = format != null && format.type() == ResponseFormatType.JSON;
            List<String> results = messages.stream()
                    .filter(ToolExecutionResultMessage.class::isInstance)
                    .map(each -> ((ToolExecutionResultMessage) each).text())
                    .toList();
            if (!results.isEmpty()) {
                // without spaces, since the tests do not allow a space as a part of a stream, and each token is a byte
                return json
                        ? "{\"weather\": \"sunny\"}"
                        : String.join(",", results).replace(" ", "-");
            }
            String question = ((UserMessage) messages.getLast()).singleText();
            if (request.toolSpecifications() != null
                    && !request.toolSpecifications().isEmpty()) {
                return calls(question);
            }
            if (question.contains("capital of Germany")) {
                return json ? "{\"city\": \"Berlin\"}" : "Berlin is the capital of Germany. How much 2 + 2 is: 4.";
            }
            return question.contains("love")
                    ? "Ich liebe dich"
                    : question.contains("Hello World") ? "Hello World" : "green";
        }

        private static String calls(String question) {
            List<String> calls = new ArrayList<>();
            if (question.contains("Munich")) {
                calls.add("{\"name\": \"getWeather\", \"arguments\": {\"city\":\"Munich\"}}");
            }
            if (question.contains("France")) {
                calls.add("{\"name\": \"getTime\", \"arguments\": {\"country\":\"France\"}}");
            }
            if (question.contains("time now")) {
                calls.add("{\"name\": \"get_current_time\", \"arguments\": {}}");
            }
            if (question.equals("hello")) {
                return "Hi!";
            }
            return calls.stream()
                    .map(each -> "<tool_call>\n" + each + "\n</tool_call>")
                    .collect(Collectors.joining("\n"));
        }
    }

    private static final Path FILE = write();

    private static Path write() {
        try {
            Path file = Files.createTempFile("contract", ".gguf");
            file.toFile().deleteOnExit();
            FamilyModel.writeChat(file, "{{ messages }}", 8192);
            return file;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns a model with answers from an oracle. */
    static MultiheadChatModel model(ChatModelListener... more) {
        return model(GenerationOptions.DEFAULT.withMaxTokens(400), more);
    }

    static MultiheadChatModel model(GenerationOptions options, ChatModelListener... more) {
        Oracle oracle = new Oracle();
        List<ChatModelListener> listeners = new ArrayList<>(List.of(oracle));
        listeners.addAll(List.of(more));
        TokenConstraint own = options.constraint();
        return build(options.withConstraint(own == TokenConstraint.NONE ? oracle.constraint() : own), listeners);
    }

    /** Returns the options of a model for langchain4j's parameters. */
    static GenerationOptions options(ChatRequestParameters parameters) {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(400);
        if (parameters.maxOutputTokens() != null) {
            options = options.withMaxTokens(parameters.maxOutputTokens());
        }
        return parameters.stopSequences().isEmpty()
                ? options
                : options.withStopSequences(parameters.stopSequences().toArray(String[]::new));
    }

    /** Returns the options of a model for listeners. */
    static GenerationOptions options(double temperature, double topP, int maxTokens) {
        return GenerationOptions.DEFAULT
                .withMaxTokens(maxTokens)
                .withSampling(Sampling.of(temperature, 0).withTopP(topP));
    }

    private static MultiheadChatModel build(GenerationOptions options, List<ChatModelListener> listeners) {
        return MultiheadChatModel.builder()
                .path(FILE)
                .threads(1)
                .chatTemplate(ChatTemplate.QWEN_3)
                .modelName("contract")
                .sessions(SessionOptions.DEFAULT)
                .generation(options)
                .listeners(listeners)
                .build();
    }

    /** Returns a model that fails at each request. */
    static MultiheadChatModel failing(ChatModelListener listener) {
        return build(
                GenerationOptions.DEFAULT.withConstraint(vocabulary -> {
                    throw new IllegalStateException("as it is to fail");
                }),
                List.of(listener));
    }
}
