package io.multihead.langchain4j;

import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.multihead.compute.Compute;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TokenListener;
import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * langchain4j's chat model on a {@link LanguageModel}: in process, without native libraries.
 *
 * <p>Temperature, top-k, top-p, presence penalty, stop sequences and the maximum of output tokens of a request override those of the
 * model. All else that would change an answer is refused by name, with langchain4j's
 * {@link dev.langchain4j.exception.UnsupportedFeatureException}: parameters of a provider's own class, tools, formats of responses, frequency
 * penalties, contents other than one text, names of users, thoughts and images of answers. Attributes of messages, which langchain4j keeps
 * for memories and gives to no model, are not read. Requests of several threads are computed together, and an answer is the
 * same alone and beside others.
 *
 * <p>Works with langchain4j's core from version 1.0 on.
 *
 * <p>Thread-safe. {@link #close} ends the model's own threads and frees its weights; requests that are running end with an
 * {@link IllegalStateException}.
 */
public final class MultiheadChatModel implements ChatModel, AutoCloseable {
    private final LanguageModel model;
    private final Sessions sessions;
    private final GenerationOptions options;
    private final String name;
    private final ModelThreads threads;

    private MultiheadChatModel(
            LanguageModel model, Sessions sessions, GenerationOptions options, String name, ModelThreads threads) {
        this.model = model;
        this.sessions = sessions;
        this.options = options;
        this.name = name;
        this.threads = threads;
    }

    /**
     * {@return a builder, which needs a path}
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return parameters without values, which those of a request replace; what a request does not say is as {@link Builder#generation} says}
     */
    @Override
    public ChatRequestParameters defaultRequestParameters() {
        return NoParameters.INSTANCE;
    }

    @Override
    public ChatResponse doChat(ChatRequest request) {
        return answer(request, TokenListener.NONE);
    }

    ChatResponse answer(ChatRequest request, TokenListener listener) {
        return ChatCall.answer(sessions, request, options, name, listener);
    }

    /**
     * {@return the language model, for what langchain4j's interface does not offer; this model closes it}
     */
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

    /** Collects the parts of a model. For one thread. */
    public static final class Builder {
        private @Nullable Path path;
        private @Nullable ChatTemplate template;
        private final ModelThreads.Choice threads = new ModelThreads.Choice();
        private GenerationOptions options = GenerationOptions.DEFAULT;
        private SessionOptions sessions = SessionOptions.DEFAULT;
        private @Nullable String name;

        Builder() {}

        /**
         * Takes the model from a file, as {@link LanguageModel#load} does.
         *
         * @param newPath the file
         * @return this
         */
        public Builder path(Path newPath) {
            path = Checks.notNull(newPath, "path");
            return this;
        }

        /**
         * Chooses how chats are written. Without it, as the model's file says.
         *
         * @param newTemplate the template
         * @return this
         */
        public Builder chatTemplate(ChatTemplate newTemplate) {
            template = Checks.notNull(newTemplate, "chatTemplate");
            return this;
        }

        /**
         * Sets how answers are generated where a request does not say. Without it, greedily, and at most 256 tokens.
         *
         * @param newOptions the options
         * @return this
         */
        public Builder generation(GenerationOptions newOptions) {
            options = Checks.notNull(newOptions, "generation");
            return this;
        }

        /**
         * Sets how much sessions may keep. Without it, one of the model's whole context, in f16; more run at the same time if they are
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
         * Computes on the calling thread and on threads of the model's own. Without it, on the calling thread alone.
         *
         * @param newThreads how many threads work on one request, the caller included; at least 1
         * @return this
         */
        public Builder threads(int newThreads) {
            threads.own(newThreads);
            return this;
        }

        /**
         * Computes on the threads of a Compute that the caller owns.
         *
         * @param newCompute stays the caller's to close
         * @return this
         */
        public Builder compute(Compute newCompute) {
            threads.of(newCompute);
            return this;
        }

        /**
         * Sets what responses call the model. Without it, the name of the file.
         *
         * @param newName a name
         * @return this
         */
        public Builder modelName(String newName) {
            name = Checks.notNull(newName, "modelName");
            return this;
        }

        /**
         * Loads the model.
         *
         * @return the model
         * @throws UncheckedIOException if a file is missing or cannot be read
         * @throws IllegalArgumentException if no path was given, or the model is malformed or not implemented, or has no chat template
         *     that is offered
         * @throws IllegalStateException if the given Compute is closed
         */
        public MultiheadChatModel build() {
            if (path == null) {
                throw Checks.fail("path", "absent", "expected a model's file");
            }
            ModelThreads open = threads.open();
            try {
                return load(path, open);
            } catch (Throwable failed) {
                open.close();
                throw failed;
            }
        }

        private MultiheadChatModel load(Path from, ModelThreads open) {
            LanguageModel loaded = read(from, open.cpu());
            try {
                LanguageModel model = template == null ? loaded : loaded.withChatTemplate(template);
                model.chatTemplate(); // fails now rather than at the first request
                String known = name == null ? String.valueOf(from.getFileName()) : name;
                return new MultiheadChatModel(model, model.sessions(sessions), options, known, open);
            } catch (Throwable failed) {
                loaded.close();
                throw failed;
            }
        }

        private static LanguageModel read(Path from, Compute cpu) {
            try {
                return LanguageModel.load(cpu, from);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
