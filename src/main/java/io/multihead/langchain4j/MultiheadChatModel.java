package io.multihead.langchain4j;

import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.multihead.decoder.AnswerListener;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.ChatTurns;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.internal.base.Checks;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * langchain4j's chat model on a {@link LanguageModel}: in process, without native libraries.
 *
 * <p>Temperature, top-k, top-p, presence and frequency penalty, stop sequences and the maximum of output tokens of a request override the
 * model's options. Penalties count only the tokens of the answer, as in OpenAI's API. Every other parameter that would change an answer is
 * refused, with langchain4j's {@link dev.langchain4j.exception.UnsupportedFeatureException}: parameters of a provider's own class, contents
 * other than one text, names of users, and images in answers. Attributes of messages, which langchain4j keeps for memories and passes to no
 * model, are not read. Requests of several threads are computed together, and an answer is the same alone and in any batch.
 *
 * <p>The model's template writes the tools, and calls are read from the answer. Tools are refused if the format of calls in the model's template is
 * unknown. With {@code ToolChoice.REQUIRED} the answer consists of calls, each valid against its schema. With {@code NONE} the model does
 * not see the tools. An invalid call, such as one that {@code maxOutputTokens} truncates, is a part of the text.
 *
 * <p>A response format of JSON restricts the answer to any object, or to JSON that conforms to the schema, or, if there are tools, to
 * calls. A schema with an unsupported keyword is refused, and the message contains its JSON pointer. An answer that {@code maxOutputTokens}
 * truncates is incomplete, and has the finish reason {@code LENGTH}.
 *
 * <p>Messages may have any order, for example after a memory dropped the oldest messages, or after a failed call. The model's template writes
 * them. If the template refuses the messages, they are written {@linkplain ChatTurns#append in turns}.
 *
 * <p>An invalid request, or a request that is longer than the context, ends with an {@link dev.langchain4j.exception.InvalidRequestException}.
 * A request without room in the cache ({@link SessionOptions#maxWait}) ends with a {@link dev.langchain4j.exception.RateLimitException}. A
 * request that takes longer than {@link GenerationOptions#timeout} ends with a {@link dev.langchain4j.exception.TimeoutException}; a stream has
 * delivered the parts before the timeout.
 *
 * <p>Works with langchain4j's core from version 1.0 on.
 *
 * <p>Thread-safe. {@link #close} ends the model's own threads and frees its weights. Running requests end with an {@link
 * IllegalStateException}.
 */
public final class MultiheadChatModel implements ChatModel, AutoCloseable {
    private final LanguageModel model;
    private final Sessions sessions;
    private final ChatCall call;
    private final ChatRequestParameters parameters;
    private final List<ChatModelListener> listeners;
    private final ModelThreads threads;

    private MultiheadChatModel(LanguageModel model, Sessions sessions, Builder builder, ModelThreads threads) {
        this.model = model;
        this.sessions = sessions;
        String name = builder.name == null ? builder.fileName() : builder.name;
        call = new ChatCall(sessions, builder.options, name, builder.thinking, builder.strictTools);
        parameters = new OwnParameters(builder.options, name);
        listeners = builder.listeners;
        this.threads = threads;
    }

    /** {@return a builder, which needs a path} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return the model's name and the options of {@link Builder#generation}, without penalties: langchain4j's penalties do not count the prompt}
     */
    @Override
    public ChatRequestParameters defaultRequestParameters() {
        return parameters;
    }

    /** {@return the support for JSON that conforms to a schema, so that AI services request such JSON} */
    @Override
    public Set<Capability> supportedCapabilities() {
        return Set.of(Capability.RESPONSE_FORMAT_JSON_SCHEMA);
    }

    @Override
    public List<ChatModelListener> listeners() {
        return listeners;
    }

    @Override
    public ChatResponse doChat(ChatRequest request) {
        return call.answer(request, AnswerListener.NONE, () -> false);
    }

    /** Returns the object that answers requests. */
    ChatCall call() {
        return call;
    }

    /** {@return the language model, for methods that langchain4j's interface does not have; this model closes it} */
    public LanguageModel languageModel() {
        return model;
    }

    /** Ends the model's own threads and frees its weights. */
    @Override
    public void close() {
        try {
            sessions.close();
            model.close();
        } finally {
            threads.close();
        }
    }

    /** A builder of a model. Not thread-safe. */
    public static final class Builder extends LanguageModelBuilder<MultiheadChatModel, Builder> {
        private @Nullable ChatTemplate template;
        private GenerationOptions options = GenerationOptions.DEFAULT;
        private SessionOptions sessions = SessionOptions.DEFAULT;
        private @Nullable String name;
        private List<ChatModelListener> listeners = List.of();
        private ChatCall.Thinking thinking = new ChatCall.Thinking(false, false);
        private boolean strictTools;
        private final Map<String, Object> variables = new LinkedHashMap<>();

        Builder() {}

        @Override
        Builder self() {
            return this;
        }

        /**
         * Sets the chat template. The default is the template of the model's file.
         *
         * @param newTemplate the template
         * @return this
         */
        public Builder chatTemplate(ChatTemplate newTemplate) {
            template = Checks.notNull(newTemplate, "chatTemplate");
            return this;
        }

        /**
         * Sets the options of answers, which a request may override. The default is greedy, with at most 256 tokens. With a temperature, of these
         * options or of a request, seed 0 means that each request gets a random seed, which {@link MultiheadChatResponseMetadata#seed} returns.
         *
         * @param newOptions the options
         * @return this
         */
        public Builder generation(GenerationOptions newOptions) {
            options = Checks.notNull(newOptions, "generation");
            return this;
        }

        /**
         * Sets the memory of sessions. The default is one session of the model's whole context, in f16; more sessions fit if they are
         * shorter.
         *
         * @param newSessions the options
         * @return this
         */
        public Builder sessions(SessionOptions newSessions) {
            sessions = Checks.notNull(newSessions, "sessions");
            return this;
        }

        /**
         * Sets the model's name in responses. The default is the name of the file.
         *
         * @param newName a name
         * @return this
         */
        public Builder modelName(String newName) {
            name = Checks.notNull(newName, "modelName");
            return this;
        }

        /**
         * Sets the listeners of requests, answers and errors, also of streams.
         *
         * @param newListeners the listeners, in the order in which they are called
         * @return this
         */
        public Builder listeners(List<ChatModelListener> newListeners) {
            listeners = Checks.noNulls(newListeners, "listeners");
            return this;
        }

        /**
         * Sets whether answers have the model's thoughts: {@code AiMessage.thinking()}, and {@code onPartialThinking} of streams. The default is
         * false. Thoughts are never part of the text.
         *
         * @param returned whether answers have the thoughts
         * @return this
         * @throws IllegalArgumentException if langchain4j's core is older than 1.2, whose answers have no thinking
         */
        public Builder returnThinking(boolean returned) {
            thinking = new ChatCall.Thinking(requireThinking("returnThinking", returned), thinking.sent());
            return this;
        }

        /**
         * Sets whether the model receives its thoughts of earlier answers, if its template writes them. The default is false.
         *
         * @param sent whether the model receives them
         * @return this
         * @throws IllegalArgumentException if langchain4j's core is older than 1.2, whose answers have no thinking
         */
        public Builder sendThinking(boolean sent) {
            thinking = new ChatCall.Thinking(thinking.returned(), requireThinking("sendThinking", sent));
            return this;
        }

        private static boolean requireThinking(String name, boolean wanted) {
            if (wanted && !ChatMessages.HAVE_THINKING) {
                throw Checks.fail(name, "true", "expected langchain4j-core 1.2 or later, or false");
            }
            return wanted;
        }

        /**
         * Sets whether calls of tools are always valid against their schemas, even if {@code ToolChoice} does not require calls: after the mark
         * of a call, a grammar allows nothing else. Without this setting, a model may write invalid calls.
         *
         * @param strict whether calls are always valid. If true, requests are refused if a schema has a keyword that grammars do not support,
         *     or if there are tools and the model's calls have no mark, as in Llama 3
         * @return this
         */
        public Builder strictTools(boolean strict) {
            strictTools = strict;
            return this;
        }

        /**
         * Sets an option of the chat template for all requests, such as {@code enable_thinking} of Qwen 3.
         *
         * @param variable its name in the template
         * @param value a string, a boolean, a number, or a list or map of these
         * @return this
         * @throws IllegalArgumentException if the value has another type, or the name is {@code messages} or {@code tools}
         */
        public Builder templateVariable(String variable, Object value) {
            ChatTemplate.CHATML.withVariable(variable, value); // an invalid variable fails here
            variables.put(variable, value);
            return this;
        }

        /**
         * Loads the model.
         *
         * @return the model
         * @throws UncheckedIOException if a file is missing or cannot be read
         * @throws IllegalArgumentException if no path was given, or the model is malformed or not supported, or has no supported chat
         *     template
         * @throws IllegalStateException if the given Compute is closed
         */
        public MultiheadChatModel build() {
            return open();
        }

        @Override
        MultiheadChatModel load(LanguageModel loaded, ModelThreads open) {
            ChatTemplate chats = template == null ? loaded.chatTemplate() : template;
            for (Map.Entry<String, Object> variable : variables.entrySet()) {
                chats = chats.withVariable(variable.getKey(), variable.getValue());
            }
            LanguageModel model = loaded.withChatTemplate(chats);
            return new MultiheadChatModel(model, model.sessions(sessions), this, open);
        }
    }
}
