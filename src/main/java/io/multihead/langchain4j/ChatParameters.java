package io.multihead.langchain4j;

import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.DefaultChatRequestParameters;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Penalties;
import io.multihead.decoder.Sampling;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Converts langchain4j's parameters of a request to options of a generated text. Unsupported parameters are refused with an error that names
 * them.
 */
final class ChatParameters {
    private ChatParameters() {}

    /**
     * Returns the options of a request, except its format and its tools.
     *
     * @param defaults the values of parameters that a request does not set
     */
    static GenerationOptions options(ChatRequestParameters parameters, GenerationOptions defaults, String modelName) {
        if (parameters.getClass() != DefaultChatRequestParameters.class
                && parameters.getClass() != OwnParameters.class) {
            throw unsupported(
                    "parameters",
                    parameters.getClass().getName(),
                    "expected langchain4j's own DefaultChatRequestParameters, as additions of providers are not supported");
        }
        if (parameters.modelName() != null && !parameters.modelName().equals(modelName)) {
            throw unsupported(
                    "modelName", parameters.modelName(), "expected " + modelName + ", as others are not supported");
        }
        GenerationOptions options = defaults.withSampling(sampling(parameters, defaults.sampling()));
        if (parameters.maxOutputTokens() != null) {
            require(parameters.maxOutputTokens() >= 1, "maxOutputTokens", parameters.maxOutputTokens(), "at least 1");
            options = options.withMaxTokens(parameters.maxOutputTokens());
        }
        List<String> stops = parameters.stopSequences();
        if (stops == null || stops.isEmpty()) {
            return options;
        }
        for (int i = 0; i < stops.size(); i++) {
            require(!stops.get(i).isEmpty(), "stopSequences[" + i + "]", "empty", "a text");
        }
        return options.withStopSequences(stops.toArray(String[]::new));
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
        sampling = sampling.withPenalties(
                penalties(parameters.presencePenalty(), parameters.frequencyPenalty(), sampling.penalties()));
        return sampling.temperature() > 0 && sampling.seed() == 0 ? sampling.withSeed(seed()) : sampling;
    }

    /**
     * Returns the penalties of a request, which count only the answer's tokens. Penalties that the request does not set are the model's
     * penalties.
     */
    private static Penalties penalties(@Nullable Double presence, @Nullable Double frequency, Penalties defaults) {
        return new Penalties(
                defaults.repetition(),
                presence == null ? defaults.presence() : 0,
                presence == null ? defaults.generatedPresence() : finite(presence, "presencePenalty"),
                frequency == null ? defaults.generatedFrequency() : finite(frequency, "frequencyPenalty"));
    }

    private static double finite(double value, String name) {
        require(Double.isFinite(value), name, value, "a finite number");
        return value;
    }

    /** Returns a seed other than 0, which means no seed. */
    private static long seed() {
        long seed;
        do {
            seed = ThreadLocalRandom.current().nextLong();
        } while (seed == 0);
        return seed;
    }

    private static void require(boolean holds, String name, Object value, String expected) {
        if (!holds) {
            throw new InvalidRequestException(name + ": " + value + "; expected " + expected);
        }
    }

    static void refuse(@Nullable Object value, String what) {
        if (value != null) {
            throw unsupported(what, value, "expected none, as it is not supported");
        }
    }

    static void refuseSome(@Nullable List<?> values, String what) {
        if (values != null && !values.isEmpty()) {
            throw unsupported(what, values.size() + " of them", "expected none, as they are not supported");
        }
    }

    static UnsupportedFeatureException unsupported(String what, Object value, String expected) {
        return new UnsupportedFeatureException(what + ": " + value + "; " + expected);
    }
}
