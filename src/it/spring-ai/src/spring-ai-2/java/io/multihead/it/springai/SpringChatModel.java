package io.multihead.it.springai;

import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.Prompt;
import reactor.core.publisher.Flux;

/** A chat model for Spring AI 2, in which a {@code ChatClient} or the program executes tools. */
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
