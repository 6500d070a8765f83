package io.multihead.langchain4j;

import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.model.output.Response;
import dev.langchain4j.model.scoring.ScoringModel;
import io.multihead.compute.Compute;
import io.multihead.encoder.Reranker;
import io.multihead.encoder.ScoreActivation;
import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * langchain4j's scoring model on a {@link Reranker}: in process, without native libraries. The score of a segment is the score of its text.
 *
 * <p>Works with langchain4j's core from version 1.0 on. Thread-safe. {@link #close} ends the threads and unmaps the weights.
 */
public final class MultiheadScoringModel implements ScoringModel, AutoCloseable {
    private final Reranker reranker;
    private final ModelThreads threads;

    private MultiheadScoringModel(Reranker reranker, ModelThreads threads) {
        this.reranker = reranker;
        this.threads = threads;
    }

    /** {@return a builder, which needs a folder and is not thread-safe} */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public Response<List<Double>> scoreAll(List<TextSegment> segments, String query) {
        List<String> texts = segments.stream().map(TextSegment::text).toList();
        return Response.from(Arrays.stream(reranker.score(query, texts)).boxed().toList());
    }

    /** {@return the reranker, for methods that langchain4j's interface does not have; this model closes it} */
    public Reranker reranker() {
        return reranker;
    }

    /** Ends the model's own threads and unmaps its weights. */
    @Override
    public void close() {
        try {
            reranker.close();
        } finally {
            threads.close();
        }
    }

    /** Collects the parts of a model. Not thread-safe. */
    public static final class Builder extends ModelBuilder<MultiheadScoringModel, Builder> {
        private @Nullable Path folder;
        private @Nullable ScoreActivation activation;
        private int maxTokens;

        Builder() {}

        @Override
        Builder self() {
            return this;
        }

        /**
         * Takes the model from a folder, as {@link Reranker#load} does.
         *
         * @param newFolder the folder
         * @return this
         */
        public Builder directory(Path newFolder) {
            folder = Checks.notNull(newFolder, "directory");
            return this;
        }

        /**
         * Sets the activation of the model's outputs. The default is the activation of the folder.
         *
         * @param newActivation the function
         * @return this
         */
        public Builder activation(ScoreActivation newActivation) {
            activation = Checks.notNull(newActivation, "activation");
            return this;
        }

        /**
         * Sets the largest number of tokens of a query and a text, including {@code [CLS]} and both {@code [SEP]}. The default is the setting
         * of the folder.
         *
         * @param newMaxTokens 3 to the model's positions
         * @return this
         */
        public Builder maxTokens(int newMaxTokens) {
            maxTokens = (int) Checks.atLeast(newMaxTokens, 3, "maxTokens");
            return this;
        }

        /**
         * Loads the model.
         *
         * @return the model
         * @throws UncheckedIOException if a file is missing or cannot be read
         * @throws IllegalArgumentException if no folder was given, or the model is malformed, not supported, or has several labels
         * @throws IllegalStateException if the given Compute is closed
         */
        public MultiheadScoringModel build() {
            return open();
        }

        @Override
        MultiheadScoringModel load(ModelThreads open) throws IOException {
            if (folder == null) {
                throw Checks.fail("model", "no directory", "expected one");
            }
            return new MultiheadScoringModel(load(open.cpu(), folder), open);
        }

        private Reranker load(Compute cpu, Path from) throws IOException {
            Reranker loaded = Reranker.load(cpu, from);
            try {
                if (loaded.labels() != 1) {
                    throw Checks.fail("model", loaded.labels() + " labels", "expected 1, for a score");
                }
                Reranker limited = maxTokens == 0 ? loaded : loaded.withMaxTokens(maxTokens);
                return activation == null ? limited : limited.withActivation(activation);
            } catch (Throwable failed) {
                loaded.close();
                throw failed;
            }
        }
    }
}
