package io.multihead.langchain4j;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Penalties;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TokenListener;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** langchain4j's requests as calls of a language model, and its answers as responses. What cannot be done is refused, by name. */
final class ChatCall {
    private ChatCall() {}

    /**
     * Answers a request.
     *
     * @param defaults what holds where the request has no parameter
     */
    static ChatResponse answer(
            Sessions sessions,
            ChatRequest request,
            GenerationOptions defaults,
            String modelName,
            TokenListener listener) {
        GenerationOptions options = options(request.parameters(), defaults, modelName);
        List<ChatMessage> messages =
                request.messages().stream().map(ChatCall::message).toList();
        try (Session session = sessions.open()) {
            GeneratedText text = session.appendChat(messages).generate(options, listener);
            return ChatResponse.builder()
                    .aiMessage(AiMessage.from(text.text()))
                    .modelName(modelName)
                    .tokenUsage(
                            new TokenUsage(text.promptTokens(), text.tokens().size()))
                    .finishReason(reason(text))
                    .build();
        }
    }

    private static FinishReason reason(GeneratedText text) {
        return switch (text.finish()) {
            case END_TOKEN, STOP_TEXT -> FinishReason.STOP;
            case MAX_TOKENS, CONTEXT_FULL -> FinishReason.LENGTH;
            case CANCELLED -> FinishReason.OTHER;
        };
    }

    private static ChatMessage message(dev.langchain4j.data.message.ChatMessage message) {
        return switch (message) {
            case SystemMessage system -> ChatMessage.system(system.text());
            case UserMessage user when user.hasSingleText() -> ChatMessage.user(user.singleText());
            case AiMessage answer
            when !answer.hasToolExecutionRequests() && answer.text() != null -> ChatMessage.assistant(answer.text());
            default ->
                throw new UnsupportedFeatureException(
                        "message of type " + message.type() + " with other contents than one text; expected text");
        };
    }

    private static GenerationOptions options(
            ChatRequestParameters parameters, GenerationOptions defaults, String modelName) {
        refuse(parameters.frequencyPenalty(), "frequencyPenalty");
        refuse(parameters.toolChoice(), "toolChoice");
        if (!parameters.toolSpecifications().isEmpty()) {
            refuse(parameters.toolSpecifications(), "toolSpecifications");
        }
        if (parameters.responseFormat() != null && parameters.responseFormat().type() != ResponseFormatType.TEXT) {
            refuse(parameters.responseFormat(), "responseFormat");
        }
        if (parameters.modelName() != null && !parameters.modelName().equals(modelName)) {
            refuse(parameters.modelName(), "modelName");
        }
        GenerationOptions options = defaults.withSampling(sampling(parameters, defaults.sampling()));
        if (parameters.maxOutputTokens() != null) {
            options = options.withMaxTokens(parameters.maxOutputTokens());
        }
        return parameters.stopSequences().isEmpty()
                ? options
                : options.withStops(parameters.stopSequences().toArray(String[]::new));
    }

    private static Sampling sampling(ChatRequestParameters parameters, Sampling defaults) {
        Sampling sampling = defaults;
        if (parameters.temperature() != null) {
            sampling = sampling.withTemperature(parameters.temperature());
        }
        if (parameters.topK() != null) {
            sampling = sampling.withTopK(parameters.topK());
        }
        if (parameters.topP() != null) {
            sampling = sampling.withTopP(parameters.topP());
        }
        if (parameters.presencePenalty() != null) {
            sampling = sampling.withPenalties(
                    new Penalties(sampling.penalties().repetition(), parameters.presencePenalty()));
        }
        return sampling;
    }

    private static void refuse(@Nullable Object value, String parameter) {
        if (value != null) {
            throw new UnsupportedFeatureException(parameter + ": " + value + "; expected none, as it is not supported");
        }
    }
}
