package io.multihead.langchain4j;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ContentType;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.DefaultChatRequestParameters;
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
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** langchain4j's requests as calls of a language model, and its answers as responses. What cannot be done is refused, by name. */
final class ChatCall {
    /** What answers have in later versions of core than 1.0. */
    private static final boolean HAS_THINKING = hasMethod("thinking");

    private static final boolean HAS_IMAGES = hasMethod("images");

    /** A constant of {@code ToolChoice} in later versions of core than 1.0: what this model does anyway. */
    private static final String NO_TOOLS = "NONE";

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
            case CANCELLED, TIMEOUT -> FinishReason.OTHER;
        };
    }

    private static ChatMessage message(dev.langchain4j.data.message.ChatMessage message) {
        return switch (message) {
            case SystemMessage system -> ChatMessage.system(system.text());
            case UserMessage user -> ChatMessage.user(text(user));
            case AiMessage answer -> ChatMessage.assistant(text(answer));
            default -> throw unsupported("message", message.type(), "expected SYSTEM, USER or AI");
        };
    }

    private static String text(UserMessage user) {
        refuse(user.name(), "name of a USER message");
        if (!user.hasSingleText()) {
            List<ContentType> types =
                    user.contents().stream().map(Content::type).toList();
            throw unsupported("contents of a USER message", types, "expected one TEXT");
        }
        return user.singleText();
    }

    private static String text(AiMessage answer) {
        refuseSome(answer.toolExecutionRequests(), "toolExecutionRequests of an AI message");
        if (HAS_THINKING && answer.thinking() != null && !answer.thinking().isEmpty()) {
            refuse(answer.thinking().length() + " characters", "thinking of an AI message");
        }
        if (HAS_IMAGES) {
            refuseSome(answer.images(), "images of an AI message");
        }
        if (answer.text() == null) {
            throw unsupported("text of an AI message", "none", "expected a text");
        }
        return answer.text();
    }

    private static GenerationOptions options(
            ChatRequestParameters parameters, GenerationOptions defaults, String modelName) {
        if (parameters.getClass() != DefaultChatRequestParameters.class && parameters != NoParameters.INSTANCE) {
            throw unsupported(
                    "parameters",
                    parameters.getClass().getName(),
                    "expected langchain4j's own DefaultChatRequestParameters, as what a provider adds to them is not supported");
        }
        if (parameters.frequencyPenalty() != null && parameters.frequencyPenalty() != 0) {
            refuse(parameters.frequencyPenalty(), "frequencyPenalty");
        }
        if (parameters.toolChoice() != null && !parameters.toolChoice().name().equals(NO_TOOLS)) {
            refuse(parameters.toolChoice(), "toolChoice");
        }
        refuseSome(parameters.toolSpecifications(), "toolSpecifications");
        if (parameters.responseFormat() != null && parameters.responseFormat().type() != ResponseFormatType.TEXT) {
            refuse(parameters.responseFormat(), "responseFormat");
        }
        if (parameters.modelName() != null && !parameters.modelName().equals(modelName)) {
            throw unsupported("modelName", parameters.modelName(), "expected " + modelName);
        }
        GenerationOptions options = defaults.withSampling(sampling(parameters, defaults.sampling()));
        if (parameters.maxOutputTokens() != null) {
            options = options.withMaxTokens(parameters.maxOutputTokens());
        }
        List<String> stops = parameters.stopSequences();
        return stops == null || stops.isEmpty() ? options : options.withStops(stops.toArray(String[]::new));
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

    private static void refuse(@Nullable Object value, String what) {
        if (value != null) {
            throw unsupported(what, value, "expected none, as it is not supported");
        }
    }

    private static void refuseSome(@Nullable List<?> values, String what) {
        if (values != null && !values.isEmpty()) {
            throw unsupported(what, values.size() + " of them", "expected none, as they are not supported");
        }
    }

    private static UnsupportedFeatureException unsupported(String what, Object value, String expected) {
        return new UnsupportedFeatureException(what + ": " + value + "; " + expected);
    }

    private static boolean hasMethod(String name) {
        return Arrays.stream(AiMessage.class.getMethods())
                .anyMatch(method -> method.getName().equals(name));
    }
}
