package io.multihead.langchain4j;

import dev.langchain4j.model.chat.response.ChatResponseMetadata;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Metadata of an answer: the metadata of langchain4j, and the seed that repeats the answer. Immutable. */
public final class MultiheadChatResponseMetadata extends ChatResponseMetadata {
    private final @Nullable Long seed;

    private MultiheadChatResponseMetadata(Builder builder) {
        super(builder);
        seed = builder.seed;
    }

    /**
     * {@return the seed of the answer's random numbers, with which the same request has the same answer; null if the answer was greedy}
     */
    public @Nullable Long seed() {
        return seed;
    }

    /** {@return a builder without values} */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public Builder toBuilder() {
        Builder builder = builder();
        toBuilder(builder);
        return builder.seed(seed);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return super.equals(other)
                && other instanceof MultiheadChatResponseMetadata that
                && Objects.equals(seed, that.seed);
    }

    @Override
    public int hashCode() {
        return 31 * super.hashCode() + Objects.hashCode(seed);
    }

    @Override
    public String toString() {
        return super.toString() + ", seed " + seed;
    }

    /** A builder. Not thread-safe. */
    public static final class Builder extends ChatResponseMetadata.Builder<Builder> {
        private @Nullable Long seed;

        Builder() {}

        /**
         * Sets the seed.
         *
         * @param newSeed seed of the random numbers; null for none
         * @return this
         */
        public Builder seed(@Nullable Long newSeed) {
            seed = newSeed;
            return this;
        }

        @Override
        public MultiheadChatResponseMetadata build() {
            return new MultiheadChatResponseMetadata(this);
        }
    }
}
