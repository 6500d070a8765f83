package io.multihead.it.spark;

import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;
import io.multihead.decoder.SessionOptions;
import java.io.Serializable;

/**
 * The options for the generated texts of a column, which are sent to executors. Immutable.
 *
 * @param maxTokens largest number of tokens of one text
 * @param contextTokens maximum number of tokens of a prompt and its text together. A task has memory for a batch of
 *     such sequences.
 * @param batch number of prompts that a task computes together
 * @param temperature 0 takes the most likely token
 * @param seed seed of the random numbers. The same prompt has the same text in each row.
 * @param chat whether a prompt is a question for the model's chat template. Otherwise, it is the beginning of a text.
 */
public record Generation(int maxTokens, int contextTokens, int batch, double temperature, long seed, boolean chat)
        implements Serializable {
    /** Greedy texts of at most 100 tokens after prompts of at most 924, 16 at a time. */
    public static final Generation DEFAULT = new Generation(100, 1024, 16, 0, 1, false);

    /**
     * {@return these options with other lengths}
     *
     * @param newMaxTokens largest number of tokens of one text
     * @param newContextTokens maximum number of tokens of a prompt and its text
     */
    public Generation withTokens(int newMaxTokens, int newContextTokens) {
        return new Generation(newMaxTokens, newContextTokens, batch, temperature, seed, chat);
    }

    /**
     * {@return these options with a temperature}
     *
     * @param newTemperature 0 takes the most likely token
     * @param newSeed seed of the random numbers
     */
    public Generation withTemperature(double newTemperature, long newSeed) {
        return new Generation(maxTokens, contextTokens, batch, newTemperature, newSeed, chat);
    }

    /**
     * {@return these options with or without a chat template}
     *
     * @param newChat whether prompts are questions for the chat template
     */
    public Generation withChat(boolean newChat) {
        return new Generation(maxTokens, contextTokens, batch, temperature, seed, newChat);
    }

    GenerationOptions options() {
        return GenerationOptions.DEFAULT.withMaxTokens(maxTokens).withSampling(Sampling.of(temperature, seed));
    }

    SessionOptions sessions(int mostTokens) {
        return SessionOptions.DEFAULT
                .withContextTokens(Math.min(contextTokens, mostTokens))
                .withSessions(batch);
    }
}
