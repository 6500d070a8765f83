package io.multihead.it.springai;

import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatTurns;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Penalties;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TokenListener;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.metadata.ChatGenerationMetadata;
import org.springframework.ai.chat.metadata.ChatResponseMetadata;
import org.springframework.ai.chat.metadata.DefaultUsage;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.content.MediaContent;
import org.springframework.ai.model.tool.StructuredOutputChatOptions;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;

/**
 * Spring AI's interface for a language model: an example to copy. What it cannot do is refused, by name. A stream computes on a thread of
 * Reactor's for blocking tasks, so that the one that subscribes goes on, be it a servlet's or an event loop's; one that is cancelled
 * ends after the token that is computed. A temperature without a seed draws one, which is in the metadata as {@code seed}. Messages that the
 * model's template refuses in their order are written in turns. Thread-safe; the sessions stay the caller's.
 *
 * @param name what metadata calls the model
 * @param sessions of the model
 * @param defaults what holds where a prompt has no option; seed 0 stands for none
 */
public record MultiheadChatModel(String name, Sessions sessions, GenerationOptions defaults) implements ChatModel {
    /** The classes of options that have nothing of a provider; a context of tools, which there are none of, is not read. */
    private static final Set<Class<?>> OWN = Set.of(
            ChatOptions.builder().build().getClass(),
            ToolCallingChatOptions.builder().build().getClass(),
            StructuredOutputChatOptions.builder().build().getClass());

    @Override
    public ChatResponse call(Prompt prompt) {
        GenerationOptions options = options(prompt.getOptions());
        GeneratedText text = generate(prompt, options, TokenListener.NONE);
        return response(text.text(), text, options.sampling());
    }

    @Override
    public Flux<ChatResponse> stream(Prompt prompt) {
        Flux<ChatResponse> parts = Flux.create(sink -> {
            GenerationOptions options = options(prompt.getOptions());
            GeneratedText text = generate(prompt, options, token -> {
                if (!token.text().isEmpty() && !sink.isCancelled()) {
                    sink.next(new ChatResponse(List.of(new Generation(new AssistantMessage(token.text())))));
                }
                return !sink.isCancelled();
            });
            // reason and usage, which are known at the end
            sink.next(response("", text, options.sampling()));
            sink.complete();
        });
        return parts.subscribeOn(Schedulers.boundedElastic());
    }

    /** Options of a model that calls tools: a {@code ChatClient} adds its tools to no others, and they could not be refused. */
    @Override
    public ChatOptions getOptions() {
        return ToolCallingChatOptions.builder()
                .model(name)
                .maxTokens(defaults.maxTokens())
                .build();
    }

    private GeneratedText generate(Prompt prompt, GenerationOptions options, TokenListener listener) {
        List<ChatMessage> messages = prompt.getInstructions().stream()
                .map(MultiheadChatModel::message)
                .toList();
        try (Session session = sessions.open()) {
            return ChatTurns.append(session, messages).generate(options, listener);
        }
    }

    private ChatResponse response(String content, GeneratedText text, Sampling sampling) {
        String reason =
                switch (text.finish()) {
                    case END_TOKEN, STOP_TEXT -> "STOP";
                    case MAX_TOKENS, CONTEXT_FULL -> "LENGTH";
                    case CANCELLED, TIMEOUT -> text.finish().name();
                };
        Generation generation = new Generation(
                new AssistantMessage(content),
                ChatGenerationMetadata.builder().finishReason(reason).build());
        ChatResponseMetadata.Builder metadata = ChatResponseMetadata.builder()
                .model(name)
                .usage(new DefaultUsage(text.promptTokens(), text.tokens().size()));
        if (sampling.temperature() > 0) {
            metadata.keyValue("seed", sampling.seed());
        }
        return new ChatResponse(List.of(generation), metadata.build());
    }

    private static ChatMessage message(Message message) {
        if (message instanceof AssistantMessage && message.getClass() != AssistantMessage.class) {
            throw new UnsupportedOperationException(
                    "message: " + message.getClass().getName()
                            + "; expected Spring AI's own, as what a provider adds to it is not supported");
        }
        if (message instanceof MediaContent content && !content.getMedia().isEmpty()
                || message instanceof AssistantMessage answer && answer.hasToolCalls()) {
            throw new UnsupportedOperationException("message of media or of calls of tools; expected text");
        }
        return switch (message.getMessageType()) {
            case SYSTEM -> ChatMessage.system(message.getText());
            case USER -> ChatMessage.user(message.getText());
            case ASSISTANT -> ChatMessage.assistant(message.getText() == null ? "" : message.getText());
            case TOOL -> throw new UnsupportedOperationException("message of a tool; expected text");
        };
    }

    private GenerationOptions options(ChatOptions given) {
        if (given == null) {
            return defaults.withSampling(seeded(defaults.sampling()));
        }
        if (!OWN.contains(given.getClass())) {
            throw new UnsupportedOperationException(
                    "options: " + given.getClass().getName()
                            + "; expected Spring AI's own, as what a provider adds to them is not supported");
        }
        if (given instanceof ToolCallingChatOptions tools
                && tools.getToolCallbacks() != null
                && !tools.getToolCallbacks().isEmpty()) {
            throw new UnsupportedOperationException("toolCallbacks: "
                    + tools.getToolCallbacks().size() + " of them; expected none, as they are not supported");
        }
        if (given instanceof StructuredOutputChatOptions structured && structured.getOutputSchema() != null) {
            throw new UnsupportedOperationException("outputSchema: given; expected none, as it is not supported");
        }
        if (given.getModel() != null && !given.getModel().equals(name)) {
            throw new UnsupportedOperationException("model: " + given.getModel() + "; expected " + name);
        }
        GenerationOptions options = defaults.withSampling(sampling(given, defaults.sampling()));
        options = given.getMaxTokens() == null ? options : options.withMaxTokens(given.getMaxTokens());
        List<String> stops = given.getStopSequences();
        return stops == null || stops.isEmpty() ? options : options.withStops(stops.toArray(String[]::new));
    }

    private static Sampling sampling(ChatOptions given, Sampling defaults) {
        Sampling sampling =
                given.getTemperature() == null ? defaults : defaults.withTemperature(given.getTemperature());
        sampling = given.getTopK() == null ? sampling : sampling.withTopK(given.getTopK());
        sampling = given.getTopP() == null ? sampling : sampling.withTopP(given.getTopP());
        // of the answer alone, as OpenAI's
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
