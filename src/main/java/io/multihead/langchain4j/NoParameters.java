package io.multihead.langchain4j;

import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.DefaultChatRequestParameters;

/**
 * The parameters of a model that has none of its own. Those of a request take their place as they are: langchain4j's own merge would drop
 * what a provider's class adds to them, so that it could not be refused.
 */
final class NoParameters extends DefaultChatRequestParameters {
    static final NoParameters INSTANCE = new NoParameters();

    private NoParameters() {
        super(DefaultChatRequestParameters.builder());
    }

    @Override
    public ChatRequestParameters overrideWith(ChatRequestParameters that) {
        return that;
    }
}
