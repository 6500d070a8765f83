package io.multihead.langchain4j;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ContentType;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.LangChain4jException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.exception.TimeoutException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import io.multihead.cache.CacheFullException;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatTurns;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TokenListener;
import java.util.Arrays;
import java.util.List;

/** langchain4j's requests as calls of a language model, and its answers as responses. What cannot be done is refused, by name. */
final class ChatCall {
    /** What answers have in later versions of core than 1.0. */
    private static final boolean HAS_THINKING = hasMethod("thinking");

    private static final boolean HAS_IMAGES = hasMethod("images");

    private ChatCall() {}

    /**
     * Answers a request.
     *
     * @param defaults what holds where the request has no parameter
     * @throws LangChain4jException if the request is wrong or cannot be done, or takes too long, or there is no room for it
     */
    static ChatResponse answer(
            Sessions sessions,
            ChatRequest request,
            GenerationOptions defaults,
            String modelName,
            ResponseGrammars grammars,
            TokenListener listener) {
        try {
            GenerationOptions options = ChatParameters.options(request.parameters(), defaults, modelName, grammars);
            List<ChatMessage> messages =
                    request.messages().stream().map(ChatCall::message).toList();
            try (Session session = sessions.open()) {
                GeneratedText text = ChatTurns.append(session, messages).generate(options, listener);
                if (text.finish() == io.multihead.decoder.FinishReason.TIMEOUT) {
                    throw new TimeoutException("timeout: " + options.timeout() + " are over after "
                            + text.tokens().size() + " tokens; expected the whole answer");
                }
                return response(text, options.sampling(), modelName);
            }
        } catch (CacheFullException full) {
            throw new RateLimitException(full.getMessage(), full);
        } catch (IllegalArgumentException wrong) {
            throw new InvalidRequestException(wrong.getMessage(), wrong);
        }
    }

    private static ChatResponse response(GeneratedText text, Sampling sampling, String modelName) {
        return ChatResponse.builder()
                .aiMessage(AiMessage.from(text.text()))
                .metadata(MultiheadChatResponseMetadata.builder()
                        .modelName(modelName)
                        .tokenUsage(new TokenUsage(
                                text.promptTokens(), text.tokens().size()))
                        .finishReason(reason(text))
                        .seed(sampling.temperature() > 0 ? sampling.seed() : null)
                        .build())
                .build();
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
            default -> throw ChatParameters.unsupported("message", message.type(), "expected SYSTEM, USER or AI");
        };
    }

    private static String text(UserMessage user) {
        ChatParameters.refuse(user.name(), "name of a USER message");
        if (!user.hasSingleText()) {
            List<ContentType> types =
                    user.contents().stream().map(Content::type).toList();
            throw ChatParameters.unsupported("contents of a USER message", types, "expected one TEXT");
        }
        return user.singleText();
    }

    private static String text(AiMessage answer) {
        ChatParameters.refuseSome(answer.toolExecutionRequests(), "toolExecutionRequests of an AI message");
        if (HAS_THINKING && answer.thinking() != null && !answer.thinking().isEmpty()) {
            ChatParameters.refuse(answer.thinking().length() + " characters", "thinking of an AI message");
        }
        if (HAS_IMAGES) {
            ChatParameters.refuseSome(answer.images(), "images of an AI message");
        }
        return answer.text() == null ? "" : answer.text();
    }

    private static boolean hasMethod(String name) {
        return Arrays.stream(AiMessage.class.getMethods())
                .anyMatch(method -> method.getName().equals(name));
    }
}
