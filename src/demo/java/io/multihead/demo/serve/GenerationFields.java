package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Penalties;
import io.multihead.decoder.Sampling;
import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import io.multihead.grammar.TokenRules;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The members of a request that control the generation of texts: the members and defaults of OpenAI, and {@code top_k}
 * and {@code min_p} as in other servers.
 *
 * @param options of the first text
 * @param texts the number of texts. Each has the next seed.
 * @param streams whether the answer is a stream of events
 * @param streamsUsage whether the last event counts tokens
 */
record GenerationFields(GenerationOptions options, int texts, boolean streams, boolean streamsUsage) {
    private static final int MOST_TEXTS = 16;
    private static final double MOST_PENALTY = 2;
    private static final double MOST_BIAS = 100;

    /**
     * Reads these members.
     *
     * @param mostTokens the largest number of tokens of a text if the request has no limit
     * @param timeout the maximum time of a text
     * @param vocabulary number of tokens in the vocabulary
     */
    static GenerationFields of(Fields fields, int mostTokens, Duration timeout, int vocabulary) {
        long seed = fields.integer(
                "seed",
                Long.MIN_VALUE,
                Long.MAX_VALUE,
                ThreadLocalRandom.current().nextLong());
        Penalties penalties = new Penalties(
                1,
                0,
                fields.number("presence_penalty", -MOST_PENALTY, MOST_PENALTY, 0),
                fields.number("frequency_penalty", -MOST_PENALTY, MOST_PENALTY, 0));
        Sampling sampling = new Sampling(
                fields.number("temperature", 0, 2, 1),
                (int) fields.integer("top_k", 0, Integer.MAX_VALUE, 0),
                Math.max(fields.number("top_p", 0, 1, 1), Double.MIN_VALUE), // 0 keeps the most probable token
                fields.number("min_p", 0, 1, 0),
                penalties,
                seed);
        long older = fields.integer("max_tokens", 1, Integer.MAX_VALUE, mostTokens);
        long most = fields.integer("max_completion_tokens", 1, Integer.MAX_VALUE, older);
        boolean streams = fields.flag("stream", false);
        boolean usage = fields.object("stream_options", options -> options.flag("include_usage", false), false);
        if (!streams && fields.find("stream_options") != null) {
            throw fields.wrong("stream_options", "without stream; expected none");
        }
        List<String> stops = fields.texts("stop", 16);
        if (stops.contains("")) {
            throw fields.wrong("stop", "an empty text; expected at least one character in each");
        }
        GenerationOptions options = GenerationOptions.DEFAULT
                .withSampling(sampling)
                .withMaxTokens((int) Math.min(most, mostTokens))
                .withStopSequences(stops.toArray(String[]::new))
                .withTimeout(timeout)
                .withConstraint(constraint(fields, vocabulary));
        return new GenerationFields(options, (int) fields.integer("n", 1, MOST_TEXTS, 1), streams, usage);
    }

    GenerationOptions options(int text) {
        Sampling sampling = options.sampling();
        return options.withSampling(sampling.withSeed(sampling.seed() + text));
    }

    GenerationFields withMostProbable(int tokens) {
        return new GenerationFields(options.withMostProbable(tokens), texts, streams, streamsUsage);
    }

    private static TokenConstraint constraint(Fields fields, int vocabulary) {
        JsonNode bias = fields.find("logit_bias");
        if (bias != null && !bias.isObject()) {
            throw fields.wrong("logit_bias", "expected an object of ids of tokens and numbers");
        }
        TokenConstraint biased =
                bias == null || bias.isEmpty() ? TokenConstraint.NONE : biased(fields, bias, vocabulary);
        TokenConstraint format = fields.object("response_format", GenerationFields::format, TokenConstraint.NONE);
        return biased == TokenConstraint.NONE ? format : format == TokenConstraint.NONE ? biased : biased.and(format);
    }

    private static TokenConstraint biased(Fields fields, JsonNode bias, int vocabulary) {
        Map<Integer, Float> biases = new HashMap<>();
        bias.properties().forEach(entry -> {
            double value = entry.getValue().isNumber() ? entry.getValue().doubleValue() : Double.NaN;
            if (!entry.getKey().matches("[0-9]{1,9}")
                    || Integer.parseInt(entry.getKey()) >= vocabulary
                    || !(Math.abs(value) <= MOST_BIAS)) {
                throw fields.wrong(
                        "logit_bias",
                        entry + "; expected ids of tokens, 0 to " + (vocabulary - 1)
                                + ", with numbers from -100 to 100");
            }
            biases.put(Integer.valueOf(entry.getKey()), (float) value);
        });
        return TokenRules.biased(biases);
    }

    private static TokenConstraint format(Fields format) {
        return switch (format.text("type")) {
            case "text" -> TokenConstraint.NONE;
            case "json_object" -> Grammar.ofJsonSchema("{\"type\": \"object\"}");
            case "json_schema" -> {
                format.require("json_schema");
                yield format.object("json_schema", GenerationFields::schema, TokenConstraint.NONE);
            }
            default -> throw format.wrong("type", "expected text, json_object or json_schema");
        };
    }

    private static TokenConstraint schema(Fields schema) {
        schema.without("name", "description", "strict"); // a grammar is always strict
        JsonNode given = schema.require("schema");
        try {
            return Grammar.ofJsonSchema(given.toString());
        } catch (IllegalArgumentException unsupported) {
            throw schema.wrong("schema", String.valueOf(unsupported.getMessage()));
        }
    }
}
