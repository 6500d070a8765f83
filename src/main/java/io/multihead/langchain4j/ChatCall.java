package io.multihead.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.LangChain4jException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.exception.TimeoutException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import io.multihead.cache.CacheFullException;
import io.multihead.decoder.AnswerFormat;
import io.multihead.decoder.AnswerListener;
import io.multihead.decoder.AnswerParser;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.ChatTurns;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.ModelAnswer;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.ToolDefinition;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Converts langchain4j's requests to calls of a language model, and its answers to responses. Unsupported parameters are refused with an error
 * that names them.
 *
 * @param sessions the sessions of the model
 * @param defaults the values of parameters that a request does not set
 * @param modelName the name of the model in responses
 * @param thinking the treatment of reasoning in answers
 * @param strictTools whether calls that are not required are also valid against their schemas
 */
record ChatCall(
        Sessions sessions, GenerationOptions defaults, String modelName, Thinking thinking, boolean strictTools) {
    /** The name of a constant of {@code ToolChoice}, which core 1.0 does not have. */
    private static final String NONE = "NONE";

    private static final String REQUIRED = "REQUIRED";

    /** Whether answers have thoughts, and whether a model receives the thoughts of earlier answers. */
    record Thinking(boolean returned, boolean sent) {}

    /**
     * Answers a request.
     *
     * @param listener receives the parts of the answer
     * @param cancelled whether the answer must end
     *
     * @throws LangChain4jException if the request is invalid, unsupported or takes too long, or there is no room for it
     */
    ChatResponse answer(ChatRequest request, AnswerListener listener, BooleanSupplier cancelled) {
        try (Session session = sessions.open()) {
            ChatRequestParameters parameters = request.parameters();
            GenerationOptions options = ChatParameters.options(parameters, defaults, modelName);
            List<ToolDefinition> tools = tools(parameters, session);
            ChatTurns.append(
                    session,
                    ChatPrompt.of(ChatMessages.of(request.messages(), thinking.sent()))
                            .withTools(tools));
            AnswerFormat format = session.answerFormat(tools);
            options = constrained(options, parameters, format, strictTools && !tools.isEmpty());
            AnswerParser parser = format.parser(listener);
            GeneratedText text = session.generate(options, token -> {
                parser.add(token.text());
                return !cancelled.getAsBoolean();
            });
            ModelAnswer answer = parser.end();
            if (text.finish() == io.multihead.decoder.FinishReason.TIMEOUT) {
                throw new TimeoutException("timeout: " + options.timeout() + " are over after "
                        + text.tokens().size() + " tokens; expected the whole answer");
            }
            return response(text, answer, options.sampling());
        } catch (CacheFullException full) {
            throw new RateLimitException(full.getMessage(), full);
        } catch (IllegalArgumentException wrong) {
            throw new InvalidRequestException(wrong.getMessage(), wrong);
        }
    }

    /** Returns the tools that the model may call. The model does not see tools that it must not call. */
    private static List<ToolDefinition> tools(ChatRequestParameters parameters, Session session) {
        List<ToolSpecification> specifications = parameters.toolSpecifications();
        boolean none = specifications == null || specifications.isEmpty();
        String choice =
                parameters.toolChoice() == null ? "" : parameters.toolChoice().name();
        if (none && choice.equals(REQUIRED)) {
            throw new InvalidRequestException(
                    "toolChoice: REQUIRED without toolSpecifications; expected at least one of them");
        }
        if (none || choice.equals(NONE)) {
            return List.of();
        }
        if (session.answerFormat(List.of()).calls().isEmpty()) {
            throw ChatParameters.unsupported(
                    "toolSpecifications",
                    specifications.size() + " of them",
                    "expected none, as the model's chat template writes no calls that are known");
        }
        return specifications.stream().map(SchemaTexts::tool).toList();
    }

    private static GenerationOptions constrained(
            GenerationOptions options, ChatRequestParameters parameters, AnswerFormat format, boolean strict) {
        if (parameters.toolChoice() != null && parameters.toolChoice().name().equals(REQUIRED)) {
            return format.requiring(options);
        }
        ResponseFormat response = parameters.responseFormat();
        if (response != null && response.type() == ResponseFormatType.JSON) {
            return format.json(options, SchemaTexts.of(response));
        }
        return strict ? format.strict(options) : format.options(options);
    }

    private ChatResponse response(GeneratedText text, ModelAnswer answer, Sampling sampling) {
        return ChatResponse.builder()
                .aiMessage(message(answer))
                .metadata(MultiheadChatResponseMetadata.builder()
                        .modelName(modelName)
                        .tokenUsage(new TokenUsage(
                                text.promptTokens(), text.tokens().size()))
                        .finishReason(reason(text, answer))
                        .seed(sampling.temperature() > 0 ? sampling.seed() : null)
                        .build())
                .build();
    }

    private AiMessage message(ModelAnswer answer) {
        List<ToolExecutionRequest> requests = answer.toolCalls().stream()
                .map(call -> ToolExecutionRequest.builder()
                        .id(call.id())
                        .name(call.name())
                        .arguments(call.arguments())
                        .build())
                .toList();
        if (thinking.returned() && !answer.reasoning().isEmpty()) {
            return AiMessage.builder()
                    .text(requests.isEmpty() || !answer.content().isEmpty() ? answer.content() : null)
                    .thinking(answer.reasoning())
                    .toolExecutionRequests(requests)
                    .build();
        }
        if (requests.isEmpty()) {
            return AiMessage.from(answer.content());
        }
        return answer.content().isEmpty() ? AiMessage.from(requests) : AiMessage.from(answer.content(), requests);
    }

    private static FinishReason reason(GeneratedText text, ModelAnswer answer) {
        return switch (text.finish()) {
            case END_TOKEN, STOP_SEQUENCE ->
                answer.toolCalls().isEmpty() ? FinishReason.STOP : FinishReason.TOOL_EXECUTION;
            case MAX_TOKENS, CONTEXT_FULL -> FinishReason.LENGTH;
            case CANCELLED, TIMEOUT -> FinishReason.OTHER;
        };
    }
}
