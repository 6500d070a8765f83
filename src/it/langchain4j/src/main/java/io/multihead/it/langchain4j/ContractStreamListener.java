package io.multihead.it.langchain4j;

import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.common.AbstractStreamingChatModelListenerIT;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import io.multihead.langchain4j.MultiheadStreamingChatModel;

/** langchain4j's tests of the events of listeners for streams. */
class ContractStreamListener extends AbstractStreamingChatModelListenerIT {
    @Override
    protected StreamingChatModel createModel(ChatModelListener listener) {
        return MultiheadStreamingChatModel.of(
                Contract.model(Contract.options(temperature(), topP(), maxTokens()), listener));
    }

    @Override
    protected String modelName() {
        return "contract";
    }

    @Override
    protected StreamingChatModel createFailingModel(ChatModelListener listener) {
        return MultiheadStreamingChatModel.of(Contract.failing(listener));
    }

    @Override
    protected Class<? extends Exception> expectedExceptionClass() {
        return IllegalStateException.class;
    }

    @Override
    protected boolean assertResponseId() {
        return false;
    }
}
