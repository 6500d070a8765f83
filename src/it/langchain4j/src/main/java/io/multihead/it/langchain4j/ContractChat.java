package io.multihead.it.langchain4j;

import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.common.AbstractChatModelIT;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponseMetadata;
import io.multihead.langchain4j.MultiheadChatResponseMetadata;
import java.util.List;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

/** langchain4j's tests of chat models. */
class ContractChat extends AbstractChatModelIT {
    @Override
    protected List<ChatModel> models() {
        return List.of(Contract.model());
    }

    @Override
    protected boolean supportsModelNameParameter() {
        return false;
    }

    @Override
    protected boolean supportsSingleImageInputAsBase64EncodedString() {
        return false;
    }

    @Override
    protected boolean supportsMultipleImageInputsAsBase64EncodedStrings() {
        return false;
    }

    @Override
    protected boolean supportsSingleImageInputAsPublicURL() {
        return false;
    }

    @Override
    protected boolean supportsMultipleImageInputsAsPublicURLs() {
        return false;
    }

    /** Responses have no ids. */
    @Override
    protected boolean assertResponseId() {
        return false;
    }

    @Override
    protected Class<? extends ChatResponseMetadata> chatResponseMetadataType(ChatModel model) {
        return MultiheadChatResponseMetadata.class;
    }

    @Override
    protected ChatModel createModelWith(ChatRequestParameters parameters) {
        return Contract.model(Contract.options(parameters));
    }

    /** Adds no parameters. */
    @Override
    protected ChatRequestParameters createIntegrationSpecificParameters(int maxOutputTokens) {
        return ChatRequestParameters.builder().maxOutputTokens(maxOutputTokens).build();
    }

    /**
     * The test requires a builder that accepts langchain4j's parameters and refuses a model name in them. In this
     * adapter, the builder sets the name.
     */
    @Test
    @Disabled("a builder gives the model its name")
    @Override
    protected void should_fail_if_modelName_is_not_supported(ChatModel model) {}
}
