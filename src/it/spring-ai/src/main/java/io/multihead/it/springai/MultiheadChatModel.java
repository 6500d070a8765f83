package io.multihead.it.springai;

import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.FinishReason;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Penalties;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TokenListener;
import java.util.List;
import java.util.Set;
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

/**
 * Spring AI's interface for a language model: an example to copy. What it cannot do is refused, by name. A stream computes on the thread
 * that subscribes; one that is cancelled ends after the token that is computed. Thread-safe; the sessions stay the caller's.
 *
 * @param name what metadata calls the model
 * @param sessions of the model
 * @param defaults what holds where a prompt has no option
 */
public record MultiheadChatModel(String name, Sessions sessions, GenerationOptions defaults) implements ChatModel {
    /** The classes of options that have nothing of a provider; a context of tools, which there are none of, is not read. */
    private static final Set<Class<?>> OWN = Set.of(
            ChatOptions.builder().build().getClass(),
            ToolCallingChatOptions.builder().build().getClass(),
            StructuredOutputChatOptions.builder().build().getClass());

    @Override
    public ChatResponse call(Prompt prompt) {
        GeneratedText text = generate(prompt, TokenListener.NONE);
        return response(text.text(), text);
    }

    @Override
    public Flux<ChatResponse> stream(Prompt prompt) {
        return Flux.create(sink -> {
            GeneratedText text = generate(prompt, token -> {
                if (!token.text().isEmpty() && !sink.isCancelled()) {
                    sink.next(new ChatResponse(List.of(new Generation(new AssistantMessage(token.text())))));
                }
                return !sink.isCancelled();
            });
            // reason and usage, which are known at the end
            sink.next(response("", text));
            sink.complete();
        });
    }

    @Override
    public ChatOptions getOptions() {
        return ChatOptions.builder().model(name).maxTokens(defaults.maxTokens()).build();
    }

    private GeneratedText generate(Prompt prompt, TokenListener listener) {
        List<ChatMessage> messages = prompt.getInstructions().stream()
                .map(MultiheadChatModel::message)
                .toList();
        GenerationOptions options = options(prompt.getOptions());
        try (Session session = sessions.open()) {
            return session.appendChat(messages).generate(options, listener);
        }
    }

    private ChatResponse response(String content, GeneratedText text) {
        String reason = text.finish() == FinishReason.END_TOKEN || text.finish() == FinishReason.STOP_TEXT
                ? "STOP"
                : text.finish() == FinishReason.CANCELLED ? "CANCELLED" : "LENGTH";
        Generation generation = new Generation(
                new AssistantMessage(content),
                ChatGenerationMetadata.builder().finishReason(reason).build());
        DefaultUsage usage = new DefaultUsage(text.promptTokens(), text.tokens().size());
        return new ChatResponse(
                List.of(generation),
                ChatResponseMetadata.builder().model(name).usage(usage).build());
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
            case ASSISTANT -> ChatMessage.assistant(message.getText());
            case TOOL -> throw new UnsupportedOperationException("message of a tool; expected text");
        };
    }

    private GenerationOptions options(ChatOptions given) {
        if (given == null) {
            return defaults;
        }
        if (!OWN.contains(given.getClass())) {
            throw new UnsupportedOperationException(
                    "options: " + given.getClass().getName()
                            + "; expected Spring AI's own, as what a provider adds to them is not supported");
        }
        if (given.getFrequencyPenalty() != null && given.getFrequencyPenalty() != 0) {
            throw new UnsupportedOperationException(
                    "frequencyPenalty: " + given.getFrequencyPenalty() + "; expected none, as it is not supported");
        }
        if (given instanceof ToolCallingChatOptions tools
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
        return given.getPresencePenalty() == null
                ? sampling
                : sampling.withPenalties(new Penalties(sampling.penalties().repetition(), given.getPresencePenalty()));
    }
}
