package io.multihead.it.langchain4j;

import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.common.AbstractChatModelListenerIT;
import dev.langchain4j.model.chat.listener.ChatModelListener;

/** langchain4j's tests of the events of listeners. */
class ContractListener extends AbstractChatModelListenerIT {
    @Override
    protected ChatModel createModel(ChatModelListener listener) {
        return Contract.model(Contract.options(temperature(), topP(), maxTokens()), listener);
    }

    @Override
    protected String modelName() {
        return "contract";
    }

    @Override
    protected ChatModel createFailingModel(ChatModelListener listener) {
        return Contract.failing(listener);
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
