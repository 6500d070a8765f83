package io.multihead.langchain4j;

import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.output.Response;
import dev.langchain4j.model.scoring.ScoringModel;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.TextReranker;
import io.multihead.internal.base.Checks;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;

/**
 * langchain4j's scoring model on a {@link TextReranker}, such as Qwen3-Reranker: in process, without native libraries. The score of a segment is the
 * score of its text.
 *
 * <p>Works with langchain4j's core from version 1.0 on. Thread-safe. {@link #close} ends the threads and frees the weights.
 */
public final class MultiheadTextScoringModel implements ScoringModel, AutoCloseable {
    private final TextReranker reranker;
    private final LanguageModel model;
    private final ModelThreads threads;

    private MultiheadTextScoringModel(TextReranker reranker, LanguageModel model, ModelThreads threads) {
        this.reranker = reranker;
        this.model = model;
        this.threads = threads;
    }

    /** {@return a builder, which needs a path and is not thread-safe} */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public Response<List<Double>> scoreAll(List<TextSegment> segments, String query) {
        List<String> texts = segments.stream().map(TextSegment::text).toList();
        return Response.from(Arrays.stream(reranker.score(query, texts)).boxed().toList());
    }

    /** {@return the reranker, for methods that langchain4j's interface does not have; this model closes it} */
    public TextReranker reranker() {
        return reranker;
    }

    /** Ends the model's own threads and frees its weights. */
    @Override
    public void close() {
        try {
            reranker.close();
            model.close();
        } finally {
            threads.close();
        }
    }

    /** Collects the parts of a model. Not thread-safe. */
    public static final class Builder extends LanguageModelBuilder<MultiheadTextScoringModel, Builder> {
        private String instruction = TextReranker.WEB_SEARCH;
        private SessionOptions sessions = SessionOptions.DEFAULT;

        Builder() {}

        @Override
        Builder self() {
            return this;
        }

        /**
         * Sets the instruction that describes the relevant passages. The default describes passages that answer a web search.
         *
         * @param newInstruction the instruction, as for {@link TextReranker#withInstruction}
         * @return this
         */
        public Builder instruction(String newInstruction) {
            instruction = Checks.notNull(newInstruction, "instruction");
            return this;
        }

        /**
         * Sets the memory of prompts. The default is one prompt of the model's whole context, in
         * f16.
         *
         * @param newSessions the options
         * @return this
         */
        public Builder sessions(SessionOptions newSessions) {
            sessions = Checks.notNull(newSessions, "sessions");
            return this;
        }

        /**
         * Loads the model.
         *
         * @return the model
         * @throws UncheckedIOException if a file is missing or cannot be read
         * @throws IllegalArgumentException if no path was given, or the model is malformed, not supported, or has no tokens {@code yes} and
         *     {@code no}
         * @throws IllegalStateException if the given Compute is closed
         */
        public MultiheadTextScoringModel build() {
            return open();
        }

        @Override
        MultiheadTextScoringModel load(LanguageModel loaded, ModelThreads open) {
            TextReranker made = loaded.reranker(sessions).withInstruction(instruction);
            return new MultiheadTextScoringModel(made, loaded, open);
        }
    }
}
