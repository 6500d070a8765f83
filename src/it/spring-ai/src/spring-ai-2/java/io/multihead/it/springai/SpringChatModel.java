package io.multihead.it.springai;

import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.Prompt;
import reactor.core.publisher.Flux;

/** A model of chats for Spring AI 2: a {@code ChatClient} executes tools, or the program. */
interface SpringChatModel extends ChatModel {
    /** Returns a response unchanged. */
    default ChatResponse executed(Prompt prompt, ChatResponse response) {
        return response;
    }

    /** Returns a stream unchanged. */
    default Flux<ChatResponse> executed(Prompt prompt, Flux<ChatResponse> parts) {
        return parts;
    }
}
