package io.multihead.langchain4j;

import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.DefaultChatRequestParameters;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.Sampling;

/**
 * Default parameters of requests, which listeners receive: the parameters that have the same meaning in langchain4j. Parameters of a provider's
 * class replace these parameters and are not merged with them. langchain4j's own merge would drop the parameters of that class, and they could
 * not be refused.
 */
final class OwnParameters extends DefaultChatRequestParameters {
    OwnParameters(GenerationOptions options, String modelName) {
        super(builder(options, modelName));
    }

    private static Builder<?> builder(GenerationOptions options, String modelName) {
        Sampling sampling = options.sampling();
        return DefaultChatRequestParameters.builder()
                .modelName(modelName)
                .temperature(sampling.temperature())
                .topK(sampling.topK() == 0 ? null : sampling.topK())
                .topP(sampling.topP())
                .maxOutputTokens(options.maxTokens())
                .stopSequences(options.stopSequences());
    }

    @Override
    public ChatRequestParameters overrideWith(ChatRequestParameters that) {
        return that.getClass() == DefaultChatRequestParameters.class ? super.overrideWith(that) : that;
    }
}
