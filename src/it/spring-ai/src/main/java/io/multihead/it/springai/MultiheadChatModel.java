package io.multihead.it.springai;

import io.multihead.decoder.AnswerFormat;
import io.multihead.decoder.AnswerListener;
import io.multihead.decoder.AnswerParser;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.ChatTurns;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.ModelAnswer;
import io.multihead.decoder.Penalties;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.ToolCall;
import io.multihead.decoder.ToolDefinition;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.MessageType;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.metadata.ChatGenerationMetadata;
import org.springframework.ai.chat.metadata.ChatResponseMetadata;
import org.springframework.ai.chat.metadata.DefaultUsage;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.content.MediaContent;
import org.springframework.ai.model.tool.StructuredOutputChatOptions;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import org.springframework.ai.model.tool.ToolCallingManager;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;

/**
 * Spring AI's interface for a language model. This is an example to copy. Unsupported requests are refused with an
 * error that names them. The template shows tools to the model, and {@link SpringChatModel} defines the code that
 * executes them. With an output schema, which Spring AI 2 has, the answer is JSON that is valid against the schema. The
 * model's thoughts are {@code thinking} in the metadata of a generation. A stream computes on a Reactor thread for
 * blocking tasks, so that the subscribing thread of a servlet or an event loop continues. A canceled stream ends after
 * the current token. A temperature without a seed uses a random seed, which is in the metadata as {@code seed}.
 * Messages in an order that the model's template refuses are written with alternating roles. Thread-safe. The sessions
 * remain the caller's.
 *
 * @param name the name of the model in metadata
 * @param sessions the sessions of the model
 * @param defaults the values for prompts without the option. Seed 0 means no seed.
 */
public record MultiheadChatModel(String name, Sessions sessions, GenerationOptions defaults)
        implements SpringChatModel {
    /**
     * The packages of Spring AI's options. A tool context is accepted, since it is for the code that executes tools.
     */
    private static final Set<Package> OWN =
            Set.of(ChatOptions.class.getPackage(), ToolCallingChatOptions.class.getPackage());

    /** An answer with its metadata. */
    private record Answer(ModelAnswer parts, GeneratedText text, Sampling sampling) {}

    @Override
    public ChatResponse call(Prompt prompt) {
        Answer answer = answer(prompt, AnswerListener.NONE, () -> false);
        return executed(
                prompt, response(answer.parts().content(), answer.parts().reasoning(), answer));
    }

    /** Streams text and thoughts, and at the end tool calls with the finish reason and the usage. */
    @Override
    public Flux<ChatResponse> stream(Prompt prompt) {
        Flux<ChatResponse> parts = Flux.create(sink -> {
            AnswerListener listener = new AnswerListener() {
                @Override
                public void onText(String part) {
                    sink.next(new ChatResponse(List.of(new Generation(new AssistantMessage(part)))));
                }

                @Override
                public void onBrokenCall(String text, String problem) {
                    onText(text);
                }

                @Override
                public void onReasoning(String part) {
                    sink.next(new ChatResponse(List.of(new Generation(
                            new AssistantMessage(""), metadata("", part).build()))));
                }
            };
            Answer answer = answer(prompt, listener, sink::isCancelled);
            if (!sink.isCancelled()) {
                sink.next(response("", "", answer));
                sink.complete();
            }
        });
        return executed(prompt, parts.subscribeOn(Schedulers.boundedElastic()));
    }

    /** Returns options with tools, since a {@code ChatClient} adds its tools only to such options. */
    @Override
    public ChatOptions getOptions() {
        return ToolCallingChatOptions.builder()
                .model(name)
                .maxTokens(defaults.maxTokens())
                .build();
    }

    private Answer answer(Prompt prompt, AnswerListener listener, BooleanSupplier cancelled) {
        ChatOptions given = prompt.getOptions();
        GenerationOptions options = options(given);
        List<ToolDefinition> tools = tools(given);
        List<ChatMessage> messages = prompt.getInstructions().stream()
                .flatMap(MultiheadChatModel::messages)
                .toList();
        try (Session session = sessions.open()) {
            if (!tools.isEmpty() && session.answerFormat(List.of()).calls().isEmpty()) {
                throw new UnsupportedOperationException("toolCallbacks: " + tools.size()
                        + " of them; expected none, as the model's chat template writes no calls that are known");
            }
            ChatTurns.append(session, ChatPrompt.of(messages).withTools(tools));
            AnswerFormat format = session.answerFormat(tools);
            boolean isJson =
                    given instanceof StructuredOutputChatOptions structured && structured.getOutputSchema() != null;
            GenerationOptions all = isJson
                    ? format.json(options, ((StructuredOutputChatOptions) given).getOutputSchema())
                    : format.options(options);
            AnswerParser parser = format.parser(listener);
            GeneratedText text = session.generate(all, token -> {
                parser.add(token.text());
                return !cancelled.getAsBoolean();
            });
            return new Answer(parser.end(), text, options.sampling());
        }
    }

    /** Returns the tools of a prompt. A {@code ChatClient} or the program executes them. */
    private static List<ToolDefinition> tools(ChatOptions given) {
        if (!(given instanceof ToolCallingChatOptions tools)) {
            return List.of();
        }
        return ToolCallingManager.builder().build().resolveToolDefinitions(tools).stream()
                .map(tool -> new ToolDefinition(
                        tool.name(), tool.description() == null ? "" : tool.description(), tool.inputSchema()))
                .toList();
    }

    private ChatResponse response(String content, String thinking, Answer answer) {
        GeneratedText text = answer.text();
        List<AssistantMessage.ToolCall> calls = answer.parts().toolCalls().stream()
                .map(call -> new AssistantMessage.ToolCall(call.id(), "function", call.name(), call.arguments()))
                .toList();
        String reason =
                switch (text.finish()) {
                    case END_TOKEN, STOP_SEQUENCE -> calls.isEmpty() ? "STOP" : "TOOL_CALLS";
                    case MAX_TOKENS, CONTEXT_FULL -> "LENGTH";
                    case CANCELLED, TIMEOUT -> text.finish().name();
                };
        Generation generation = new Generation(
                AssistantMessage.builder().content(content).toolCalls(calls).build(),
                metadata(reason, thinking).build());
        ChatResponseMetadata.Builder metadata = ChatResponseMetadata.builder()
                .model(name)
                .usage(new DefaultUsage(text.promptTokens(), text.tokens().size()));
        if (answer.sampling().temperature() > 0) {
            metadata.keyValue("seed", answer.sampling().seed());
        }
        return new ChatResponse(List.of(generation), metadata.build());
    }

    /** Returns metadata with a thought as {@code thinking}, like Spring AI's adapter to Ollama. */
    private static ChatGenerationMetadata.Builder metadata(String reason, String thinking) {
        ChatGenerationMetadata.Builder metadata = ChatGenerationMetadata.builder();
        if (!reason.isEmpty()) {
            metadata.finishReason(reason);
        }
        if (!thinking.isEmpty()) {
            metadata.metadata("thinking", thinking);
        }
        return metadata;
    }

    private static Stream<ChatMessage> messages(Message message) {
        if (message instanceof AssistantMessage && message.getClass() != AssistantMessage.class) {
            throw new UnsupportedOperationException(
                    "message: " + message.getClass().getName()
                            + "; expected Spring AI's own, since additions of a provider are not supported");
        }
        if (message instanceof MediaContent content && !content.getMedia().isEmpty()) {
            throw new UnsupportedOperationException("message of media; expected text");
        }
        return switch (message) {
            case AssistantMessage answer ->
                Stream.of(ChatMessage.assistant(
                        answer.getText() == null ? "" : answer.getText(),
                        answer.getToolCalls().stream()
                                .map(call -> new ToolCall(
                                        call.id(), call.name(), call.arguments().isBlank() ? "{}" : call.arguments()))
                                .toList()));
            case ToolResponseMessage results ->
                results.getResponses().stream()
                        .map(result -> new ChatMessage(
                                ChatMessage.Role.TOOL,
                                result.responseData(),
                                List.of(),
                                result.id(),
                                result.name(),
                                ""));
            default ->
                Stream.of(
                        message.getMessageType() == MessageType.SYSTEM
                                ? ChatMessage.system(message.getText())
                                : ChatMessage.user(message.getText()));
        };
    }

    private GenerationOptions options(ChatOptions given) {
        if (given == null) {
            return defaults.withSampling(seeded(defaults.sampling()));
        }
        if (!OWN.contains(given.getClass().getPackage())) {
            throw new UnsupportedOperationException(
                    "options: " + given.getClass().getName()
                            + "; expected Spring AI's own, since additions of a provider are not supported");
        }
        if (given.getModel() != null && !given.getModel().equals(name)) {
            throw new UnsupportedOperationException("model: " + given.getModel() + "; expected " + name);
        }
        GenerationOptions options = defaults.withSampling(sampling(given, defaults.sampling()));
        options = given.getMaxTokens() == null ? options : options.withMaxTokens(given.getMaxTokens());
        List<String> stops = given.getStopSequences();
        return stops == null || stops.isEmpty() ? options : options.withStopSequences(stops.toArray(String[]::new));
    }

    private static Sampling sampling(ChatOptions given, Sampling defaults) {
        Sampling sampling =
                given.getTemperature() == null ? defaults : defaults.withTemperature(given.getTemperature());
        sampling = given.getTopK() == null ? sampling : sampling.withTopK(given.getTopK());
        sampling = given.getTopP() == null ? sampling : sampling.withTopP(given.getTopP());
        // penalties apply to the tokens of the answer only, as in OpenAI's API
        Penalties penalties = sampling.penalties();
        Double presence = given.getPresencePenalty();
        Double frequency = given.getFrequencyPenalty();
        return seeded(sampling.withPenalties(new Penalties(
                penalties.repetition(),
                presence == null ? penalties.presence() : 0,
                presence == null ? penalties.generatedPresence() : presence,
                frequency == null ? penalties.generatedFrequency() : frequency)));
    }

    private static Sampling seeded(Sampling sampling) {
        return sampling.temperature() > 0 && sampling.seed() == 0
                ? sampling.withSeed(ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE))
                : sampling;
    }
}
